#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// TCP sockets of a sandbox's network namespace, made by its launcher (protocol/report.h), some of
// them ahead of time. Supervisor thread only.
class ForwardSockets {
 public:
  // Hands the launcher its end of the socket on which it is asked. False: it is gone.
  using HandOver = std::function<bool(int peer)>;
  // Without a valid descriptor, none can be made.
  using OnSocket = std::function<void(Descriptor socket)>;

  ForwardSockets(uv_loop_t* loop, HandOver hand_over)
      : loop_(loop), hand_over_(std::move(hand_over)) {}
  ForwardSockets(const ForwardSockets&) = delete;
  ForwardSockets& operator=(const ForwardSockets&) = delete;

  // Calls `on_socket` once: before returning 0, or later, returning a number for Forget. A launcher
  // that does not answer is waited for without a limit.
  std::uint64_t Take(bool is_v6, OnSocket on_socket);
  void Forget(std::uint64_t number);

 private:
  struct Family {
    std::vector<Descriptor> spare;
    std::map<std::uint64_t, OnSocket> waiting;
    bool is_asked = false;
  };

  Family& Of(bool is_v6) { return is_v6 ? v6_ : v4_; }
  bool Open();
  void Ask(bool is_v6);
  void Receive();
  bool ReceiveOne();
  void Serve(Family* family);
  void Fail(Family* family);
  void Lose();

  uv_loop_t* loop_;
  HandOver hand_over_;
  Descriptor channel_;
  Poll poll_;
  Family v4_;
  Family v6_;
  std::vector<bool> asked_;  // the families of unanswered questions, in their order
  std::uint64_t next_ = 0;
};

}  // namespace native_runner
