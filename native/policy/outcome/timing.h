#pragma once

#include <cstdint>

namespace native_runner {

// The moments of one run, in nanoseconds of CLOCK_MONOTONIC, which is one for all processes of a
// host; 0: it did not come to that, or nobody knows when. Two are the launcher's, who knows them
// first: its reports are read late, to save wake-ups.
struct RunTimestamps {
  std::uint64_t submitted = 0;      // by the caller
  std::uint64_t started = 0;        // its turn came; the deadline counts from here
  std::uint64_t ready = 0;          // the sandbox stands, the command is about to start (launcher)
  std::uint64_t command_ended = 0;  // or could not be started (launcher)
  std::uint64_t kill_asked = 0;     // a deadline or an abort ended it
  std::uint64_t ended = 0;          // all its processes are known to be gone
};

// How long the parts of a run took, in microseconds: they follow one another without a gap, so
// their sum is the whole. 0: it did not come to that.
struct Timing {
  std::uint64_t queue_us = 0;     // waiting for its turn
  std::uint64_t setup_us = 0;     // until the command starts
  std::uint64_t command_us = 0;   // until it ended, or its end was asked for
  std::uint64_t teardown_us = 0;  // ending and reaping the rest, until the end is proved
};

// Moments that contradict each other (a launcher with a clock of its own) shorten parts, and never
// make one negative.
Timing TimingOf(const RunTimestamps& moments);

}  // namespace native_runner
