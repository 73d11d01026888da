#include "policy/outcome/timing.h"

#include <algorithm>

namespace native_runner {
namespace {

constexpr std::uint64_t kNanosecondsPerMicrosecond = 1'000;

std::uint64_t EarlierKnown(std::uint64_t known, std::uint64_t other) {
  return other == 0 ? known : std::min(known, other);
}

}  // namespace

Timing TimingOf(const RunTimestamps& moments) {
  const auto us = [](std::uint64_t ns) { return ns / kNanosecondsPerMicrosecond; };
  const std::uint64_t ended = moments.ended;
  const std::uint64_t started = moments.started == 0 ? ended : std::min(moments.started, ended);
  const std::uint64_t submitted =
      moments.submitted == 0 ? started : std::min(moments.submitted, started);
  // Where the last part begins; all before it is set-up where the command never was about to start.
  const std::uint64_t over = std::max(
      started, EarlierKnown(EarlierKnown(ended, moments.command_ended), moments.kill_asked));
  const std::uint64_t ready = moments.ready == 0 ? over : std::clamp(moments.ready, started, over);
  return {us(started) - us(submitted), us(ready) - us(started), us(over) - us(ready),
          us(ended) - us(over)};
}

}  // namespace native_runner
