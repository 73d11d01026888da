#include "effects/copy/copy_progress.h"

#include <ctime>

namespace native_runner {

void CopyProgress::Tell() {
  constexpr std::int64_t kBetweenMs = 100;
  if (!tell) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
  if (now_ms - told_ms < kBetweenMs) return;
  told_ms = now_ms;
  tell(files, bytes);
}

}  // namespace native_runner
