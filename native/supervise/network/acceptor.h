#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "supervise/network/connection.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Accepts on one listener, as many per wake-up as its sandbox's share allows. When the host has few
// descriptors left, clients are refused. When it has none, one client is accepted with a spare
// descriptor, so that it is refused instead of waiting; then accepting pauses. Supervisor thread
// only.
class Acceptor {
 public:
  // `may_serve`: false if the client can only be refused.
  using OnAccepted = std::function<void(Descriptor socket, bool may_serve)>;
  using HasRoom = std::function<bool()>;

  // `share` outlives this.
  Acceptor(Descriptor listener, std::uint16_t port, HeadShare* share, HasRoom has_room,
           OnAccepted on_accepted)
      : listener_(std::move(listener)),
        port_(port),
        share_(share),
        has_room_(std::move(has_room)),
        on_accepted_(std::move(on_accepted)) {}

  std::uint16_t port() const { return port_; }
  // Returns false if the listener can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // Returns true if more clients may wait.
  bool AcceptSome();
  // Continues after has_room has turned true again.
  void Resume();

 private:
  bool AcceptWithSpare();

  Descriptor listener_;
  std::uint16_t port_;
  HeadShare* share_;
  HasRoom has_room_;
  OnAccepted on_accepted_;
  uv_loop_t* loop_ = nullptr;
  Watch watch_;
  Descriptor spare_;
  Timer rest_;
};

}  // namespace native_runner
