#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "supervise/network/connection/connection.h"
#include "supervise/os/handle.h"

namespace native_runner {

// The connections of one sandbox, and their time. Supervisor thread only.
class Connections {
 public:
  using OnRoom = std::function<void()>;

  // `on_room` is called when one has ended.
  Connections(uv_loop_t* loop, const NetworkOptions* options, OnRoom on_room)
      : loop_(loop), options_(options), on_room_(std::move(on_room)) {}

  bool has_room() const { return connections_.size() < options_->most_connections; }
  std::size_t size() const { return connections_.size(); }

  void Add(std::unique_ptr<Connection> connection);
  // Lets all of them hand on what they have, and ends them.
  void Drain();

 private:
  friend class Connection;

  void Replace(std::uint64_t number, std::unique_ptr<Connection> next);
  void End(std::uint64_t number);
  void Bury(std::unique_ptr<Connection> ended);
  void Sweep();

  uv_loop_t* loop_;
  const NetworkOptions* options_;
  OnRoom on_room_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;  // one of them may be running
  std::uint64_t next_ = 0;
  Timer sweep_;
  Timer burial_;
};

}  // namespace native_runner
