#include "effects/copy/tick.h"

#include <ctime>

#include "supervise/transaction/kept_workspace.h"

namespace native_runner {
namespace {

constexpr timespec kMoment = {0, 500'000};
constexpr int kMost = 200;  // 100 ms: no kernel ticks as slowly
constexpr std::uint64_t kMostAhead = 100'000'000;

}  // namespace

void WaitUntilPast(std::uint64_t changed_ns) {
  // What is changed now has another ctime than one that lies in the future.
  if (changed_ns > FileClock() + kMostAhead) return;
  for (int left = kMost; left > 0 && FileClock() <= changed_ns; --left)
    nanosleep(&kMoment, nullptr);
}

}  // namespace native_runner
