#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>

#include "supervise/network/io/watch.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Accepts on one listener, a batch a wake-up. Where the host has few descriptors left
// clients are refused; where it has none, one is accepted with a spare, so that it is refused
// instead of waiting, and then there is a rest. Supervisor thread only.
class Acceptor {
 public:
  // `may_serve`: false for a client that can only be refused.
  using OnAccepted = std::function<void(Descriptor socket, bool may_serve)>;
  using HasRoom = std::function<bool()>;

  Acceptor(Descriptor listener, std::uint16_t port, HasRoom has_room, OnAccepted on_accepted)
      : listener_(std::move(listener)),
        port_(port),
        has_room_(std::move(has_room)),
        on_accepted_(std::move(on_accepted)) {}

  std::uint16_t port() const { return port_; }
  // False: it can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // True: more may wait.
  bool AcceptSome();
  // There is room again.
  void Resume();

 private:
  bool AcceptWithSpare();

  Descriptor listener_;
  std::uint16_t port_;
  HasRoom has_room_;
  OnAccepted on_accepted_;
  uv_loop_t* loop_ = nullptr;
  Watch watch_;
  Descriptor spare_;
  Timer rest_;
};

}  // namespace native_runner
