#include "supervise/host/directory_stamps.h"

#include <fcntl.h>

#include <algorithm>
#include <ctime>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// File systems stamp with a clock that ticks every few milliseconds, a remote one by its own clock.
constexpr std::int64_t kSettledNs = 2 * kNsPerSecond;

}  // namespace

DirectoryStamps::Stamp DirectoryStamps::Take(const std::string& directory) {
  struct statx status {};
  if (statx(AT_FDCWD, directory.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_CTIME,
            &status) != 0) {
    return {};
  }
  return {true, (status.stx_mode & S_IFMT) == S_IFLNK,
          (std::uint64_t{status.stx_dev_major} << 32U) | status.stx_dev_minor, status.stx_ino,
          status.stx_ctime.tv_sec * kNsPerSecond + status.stx_ctime.tv_nsec};
}

void DirectoryStamps::Add(const std::string& directory) {
  const bool known = std::any_of(entries_.begin(), entries_.end(), [&directory](const Entry& each) {
    return each.directory == directory;
  });
  if (known) return;
  const Stamp stamp = Take(directory);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t now_ns = now.tv_sec * kNsPerSecond + now.tv_nsec;
  trusted_ &= !stamp.link && stamp.changed_ns + kSettledNs <= now_ns;
  entries_.push_back({directory, stamp});
}

void DirectoryStamps::AddAbove(const std::string& path) {
  Add("/");
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    Add(path.substr(0, slash));
  }
}

bool DirectoryStamps::Unchanged() const {
  return trusted_ && std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
           return Take(entry.directory) == entry.stamp;
         });
}

}  // namespace native_runner
