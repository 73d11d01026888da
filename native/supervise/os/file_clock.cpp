#include "supervise/os/file_clock.h"

#include <ctime>

namespace native_runner {
namespace {

std::uint64_t Now(clockid_t clock) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

// Until it is past this moment, or for 100 ms: no kernel ticks as slowly.
void WaitPast(std::uint64_t moment) {
  constexpr timespec kMoment = {0, 500'000};
  constexpr int kMost = 200;
  for (int left = kMost; left > 0 && FileClock() <= moment; --left)
    nanosleep(&kMoment, nullptr);
}

}  // namespace

std::uint64_t FileClock() {
  return Now(CLOCK_REALTIME_COARSE);
}

std::uint64_t WaitForTick() {
  const std::uint64_t now = Now(CLOCK_REALTIME);
  WaitPast(now);
  return now;
}

void WaitUntilPast(std::uint64_t changed_ns) {
  constexpr std::uint64_t kMostAhead = 100'000'000;
  // What is changed now has another ctime than one that lies in the future.
  if (changed_ns <= FileClock() + kMostAhead) WaitPast(changed_ns);
}

}  // namespace native_runner
