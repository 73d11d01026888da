#pragma once

#include <cstdint>

namespace native_runner {

// The clock of files' times, CLOCK_REALTIME_COARSE: it lags by some milliseconds, and all that is
// changed within one of its ticks has the same ctime. Nanoseconds since 1970. Any thread.

// What is changed from now on has this time or a later one.
std::uint64_t FileClock();

// Gives a moment that no file of before has as its time or a later one, and returns when all that
// is changed from now on has: one tick, 1 to 10 ms.
std::uint64_t WaitForTick();

// Returns when what is changed from now on gets another ctime than this one: at once where it lies
// in the past, or far in the future because somebody has set the clock.
void WaitUntilPast(std::uint64_t changed_ns);

}  // namespace native_runner
