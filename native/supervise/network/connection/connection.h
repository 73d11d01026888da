#pragma once

#include <uv.h>

#include <cstdint>
#include <memory>

#include "supervise/network/connection/parts.h"

namespace native_runner {

class Connections;

// What goes on with one client: a handshake, a tunnel, HTTP. One becomes the next by Connections'
// Replace. Supervisor thread only.
class Connection {
 public:
  Connection(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns)
      : parts_(parts), connections_(connections), started_ns_(started_ns) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Called once, when Connections has it. May end it.
  virtual void Start() = 0;
  // Its time is over: it ends.
  virtual void TimedOut() = 0;
  // The last command has ended: what it sent is handed on as far as that goes without waiting.
  virtual void Drain() = 0;

  // By uv_now: when its time is over if nothing happens before.
  std::uint64_t deadline_ms() const { return deadline_ms_; }

 protected:
  friend class Connections;

  const NetworkParts& parts() const { return *parts_; }
  Connections* connections() const { return connections_; }
  std::uint64_t started_ns() const { return started_ns_; }
  std::uint64_t number() const { return number_; }

  void TimeOutIn(std::uint64_t ms) { deadline_ms_ = uv_now(parts_->loop) + ms; }
  // Takes it off the list; it is destroyed later. Nothing of it may be called back any more.
  void End();
  void Become(std::unique_ptr<Connection> next);

 private:
  const NetworkParts* parts_;
  Connections* connections_;
  std::uint64_t started_ns_;
  std::uint64_t number_ = 0;
  std::uint64_t deadline_ms_ = UINT64_MAX;
};

}  // namespace native_runner
