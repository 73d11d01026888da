#pragma once

#include <cstdlib>

namespace native_runner {

// Returns a time that is long enough on this machine, from the usual time of a test.
// NATIVE_RUNNER_SLOW is the factor by which the machine, such as an emulated one, is slower.
template <typename Number>
Number Slow(Number usual) {
  const char* const factor = std::getenv("NATIVE_RUNNER_SLOW");
  return factor == nullptr ? usual : usual * static_cast<Number>(std::atoi(factor));
}

}  // namespace native_runner
