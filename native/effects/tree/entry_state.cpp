#include "effects/tree/entry_state.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr unsigned kMask =
    STATX_TYPE | STATX_MODE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME;

}  // namespace

FileResult<EntryState> StateOf(int directory, const char* name, const char* call) {
  struct statx seen {};
  if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, kMask, &seen) != 0) {
    return Refused(call, errno);
  }
  return EntryState{seen.stx_mode,
                    makedev(seen.stx_dev_major, seen.stx_dev_minor),
                    seen.stx_ino,
                    seen.stx_size,
                    Nanoseconds(seen.stx_mtime),
                    Nanoseconds(seen.stx_ctime)};
}

FileResult<EntryState> StateAt(const std::string& path) {
  constexpr const char* kCall = "lstat";
  if (path.empty()) return Refused(kCall, ENOENT);  // statx(2) would take the working directory
  if (path.find('\0') != std::string::npos) return Refused(kCall, EINVAL);
  return StateOf(AT_FDCWD, path.c_str(), kCall);
}

}  // namespace native_runner
