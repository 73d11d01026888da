#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace native_runner {

// How far copying is, for whoever waits for it on another thread.
struct CopyProgress {
  std::uint64_t files = 0;               // that were copied: all but directories
  std::uint64_t bytes = 0;               // of them, without holes; those of clones too
  std::atomic<bool> is_stopped = false;  // set by who waits: copying ends soon, with kClosed
  // Called now and then, ten times a second at most, on the thread that copies; or empty.
  std::function<void(std::uint64_t files, std::uint64_t bytes)> tell;
  std::int64_t told_ms = 0;  // by CLOCK_MONOTONIC

  // Tells if it is time to.
  void Tell();
};

}  // namespace native_runner
