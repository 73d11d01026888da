#include "supervise/host/replaced.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// File systems stamp with a clock that ticks every few milliseconds.
constexpr std::int64_t kTickNs = 20'000'000;

bool IsReplacedSince(const std::string& path, std::int64_t since_ns) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_CTIME;
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &status) != 0) return true;
  if ((status.stx_mode & S_IFMT) == S_IFDIR) return false;
  return status.stx_ctime.tv_sec * kNsPerSecond + status.stx_ctime.tv_nsec >= since_ns;
}

}  // namespace

bool AnyReplacedSince(const std::vector<std::string>& paths, const timespec& since) {
  const std::int64_t since_ns = since.tv_sec * kNsPerSecond + since.tv_nsec - kTickNs;
  return std::any_of(paths.begin(), paths.end(), [since_ns](const std::string& path) {
    return IsReplacedSince(path, since_ns);
  });
}

}  // namespace native_runner
