#include "launcher/order/lease_timer.h"

#include <sys/timerfd.h>

#include "launcher/kernel/calls.h"

namespace native_runner {

LeaseTimer::~LeaseTimer() {
  if (timer_ >= 0) kernel::Close(timer_);
}

bool LeaseTimer::Begin(const OrderHeader& order, Refusal* refusal) {
  if (order.lease_until_ns == kNoLease) return true;
  timer_ = kernel::OpenTimer(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  const long result = timer_ < 0 ? timer_ : Set(order.lease_until_ns);
  return result == 0 || refusal->Because("cannot keep the lease", result);
}

void LeaseTimer::Extend(std::uint64_t until_ns) const {
  Set(until_ns);
}

bool LeaseTimer::HasEnded() const {
  if (timer_ < 0) return false;
  pollfd timer{timer_, POLLIN, 0};
  const timespec at_once{};
  return kernel::Poll(&timer, 1, &at_once) > 0;
}

// A moment that has passed makes it readable at once; but 0 would stop it.
long LeaseTimer::Set(std::uint64_t until_ns) const {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (until_ns == 0) until_ns = 1;
  itimerspec end{};
  end.it_value.tv_sec = static_cast<time_t>(until_ns / kSecond);
  end.it_value.tv_nsec = static_cast<long>(until_ns % kSecond);
  return kernel::SetTimer(timer_, TFD_TIMER_ABSTIME, &end);
}

}  // namespace native_runner
