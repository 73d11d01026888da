#pragma once

#include <cstdint>

#include "launcher/text/refusal.h"
#include "protocol/order.h"

namespace native_runner {

// When the order's lease ends, if it has one: kept by us, so that it holds while the host's process
// is stopped or swapped out. It goes on while the machine is suspended, and nobody sets its clock
// (CLOCK_BOOTTIME in clock_gettime(2)). Without a lease none of this makes a system call.
class LeaseTimer {
 public:
  LeaseTimer() = default;
  ~LeaseTimer();
  LeaseTimer(const LeaseTimer&) = delete;
  LeaseTimer& operator=(const LeaseTimer&) = delete;

  // False: `refusal` says why it can't be kept. Close-on-exec.
  bool Begin(const OrderHeader& order, Refusal* refusal);
  // It holds until then: what the host says last.
  void Extend(std::uint64_t until_ns);

  // Readable from its end on, unless it is extended; -1: there is no lease.
  int descriptor() const { return timer_; }
  bool HasEnded() const;

 private:
  long Set(std::uint64_t until_ns);

  int timer_ = -1;
  std::uint64_t until_ns_ = 0;
};

}  // namespace native_runner
