#include "launcher/order/lease_timer.h"

#include <sys/timerfd.h>

#include <ctime>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr clockid_t kClock = CLOCK_BOOTTIME;

}  // namespace

LeaseTimer::~LeaseTimer() {
  if (timer_ >= 0) kernel::Close(timer_);
}

bool LeaseTimer::Begin(const OrderHeader& order, Refusal* refusal) {
  if (order.lease_until_ns == kNoLease) return true;
  timer_ = kernel::OpenTimer(kClock, TFD_CLOEXEC | TFD_NONBLOCK);
  const long result = timer_ < 0 ? timer_ : Set(order.lease_until_ns);
  return result == 0 || refusal->Because("cannot keep the lease", result);
}

void LeaseTimer::Extend(std::uint64_t until_ns) {
  Set(until_ns);
}

// By the clock: a timer that is set to a moment that has passed is readable only when the kernel
// has come to it.
bool LeaseTimer::HasEnded() const {
  return timer_ >= 0 && kernel::Now(kClock) >= until_ns_;
}

// A moment that has passed makes it readable; but 0 would stop it.
long LeaseTimer::Set(std::uint64_t until_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  until_ns_ = until_ns;
  if (until_ns == 0) until_ns = 1;
  itimerspec end{};
  end.it_value.tv_sec = static_cast<time_t>(until_ns / kSecond);
  end.it_value.tv_nsec = static_cast<long>(until_ns % kSecond);
  return kernel::SetTimer(timer_, TFD_TIMER_ABSTIME, &end);
}

}  // namespace native_runner
