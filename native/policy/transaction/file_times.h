#pragma once

#include <cstdint>

namespace native_runner {

// File systems that keep whole seconds, or every second one, give a file the same times for that
// long: ext4 with inodes of 128 bytes, ext3, HFS+, FAT. A time itself shows that: of the others all
// but none is that round.
inline constexpr std::uint64_t kCoarseTickNs = 2'000'000'000;

// True if a time, in nanoseconds since 1970, is one of such a file system.
constexpr bool IsCoarse(std::uint64_t time_ns) {
  constexpr std::uint64_t kRound = 10'000'000;
  return time_ns % kRound == 0;
}

// True if what has this time may have been changed at a moment or later. `moment_ns`: by the clock
// of file times.
constexpr bool MayBeSince(std::uint64_t time_ns, std::uint64_t moment_ns) {
  return time_ns >= (IsCoarse(time_ns) ? moment_ns - moment_ns % kCoarseTickNs : moment_ns);
}

}  // namespace native_runner
