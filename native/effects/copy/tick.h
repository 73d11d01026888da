#pragma once

#include <cstdint>

namespace native_runner {

// Returns when what is changed from now on gets another ctime than this one: at once where it lies
// in the past, or far in the future because somebody has set the clock.
void WaitUntilPast(std::uint64_t changed_ns);

}  // namespace native_runner
