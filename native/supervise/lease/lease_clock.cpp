#include "supervise/lease/lease_clock.h"

#include <ctime>

namespace native_runner {

std::uint64_t LeaseNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace native_runner
