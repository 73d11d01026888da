#pragma once

#include <cstdlib>

namespace native_runner {

// A time that a test needs to be long enough for what it does, as long as this machine needs it:
// NATIVE_RUNNER_SLOW says how many times as slow as usual it is, such as one that is emulated.
template <typename Number>
Number Slow(Number usual) {
  const char* const factor = std::getenv("NATIVE_RUNNER_SLOW");
  return factor == nullptr ? usual : usual * static_cast<Number>(std::atoi(factor));
}

}  // namespace native_runner
