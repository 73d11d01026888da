#pragma once

#include <cstdint>

namespace native_runner {

// The time that leases are kept by, in nanoseconds: it goes on while the machine is suspended, and
// nobody sets it (CLOCK_BOOTTIME in clock_gettime(2)). Launchers read the same one. Any thread.
std::uint64_t LeaseNow();

}  // namespace native_runner
