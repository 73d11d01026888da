#include "supervise/project/placeholder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace native_runner {
namespace {

constexpr mode_t kMode = S_ISVTX | S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr int kTries = 1000;  // each lost to another run that just removed it

Descriptor OpenDirectory(int parent, const std::string& name) {
  return Descriptor(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool IsEmpty(int directory) {
  DIR* entries = fdopendir(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (entries == nullptr) return false;
  rewinddir(entries);
  bool empty = true;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    empty = empty && (name == "." || name == "..");
  }
  closedir(entries);
  return empty;
}

// Not fstat(2) and its like: those need a newer C library than the package promises.
bool Look(int directory, const char* name, struct statx* status) {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  return statx(directory, name, kFlags, STATX_BASIC_STATS, status) == 0;
}

bool HasMark(int directory) {
  struct statx status {};
  return Look(directory, "", &status) && status.stx_uid == geteuid() &&
         (status.stx_mode & (S_ISVTX | S_IWGRP | S_IWOTH)) == S_ISVTX;
}

bool IsStillThere(int parent, const std::string& name, int directory) {
  struct statx there {};
  struct statx ours {};
  return Look(parent, name.c_str(), &there) && Look(directory, "", &ours) &&
         there.stx_ino == ours.stx_ino && there.stx_dev_major == ours.stx_dev_major &&
         there.stx_dev_minor == ours.stx_dev_minor;
}

}  // namespace

bool PlaceholderDirectory::IsOne(int parent, const std::string& name) {
  const Descriptor directory = OpenDirectory(parent, name);
  return directory.valid() && HasMark(directory.get()) && IsEmpty(directory.get());
}

Result<std::optional<PlaceholderDirectory>> PlaceholderDirectory::Take(int parent,
                                                                       const std::string& name) {
  using Taken = std::optional<PlaceholderDirectory>;
  for (int i = 0; i < kTries; ++i) {
    if (mkdirat(parent, name.c_str(), kMode) != 0 && errno != EEXIST) {
      return SystemError(("mkdir " + name).c_str(), errno);
    }
    Descriptor directory = OpenDirectory(parent, name);
    if (!directory.valid() && errno != ENOENT) return Taken{};
    if (directory.valid()) {
      if (!HasMark(directory.get()) || !IsEmpty(directory.get())) return Taken{};
      const bool locked = flock(directory.get(), LOCK_SH | LOCK_NB) == 0;
      if (!locked && errno != EWOULDBLOCK) return SystemError("flock", errno);
      if (locked && IsStillThere(parent, name, directory.get())) {
        Descriptor own(fcntl(parent, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
        return Taken{PlaceholderDirectory(std::move(own), std::move(directory), name)};
      }
    }
    sched_yield();
  }
  return Error{ErrorCode::kSetup, "cannot hold a stand-in for " + name, "run the command again"};
}

PlaceholderDirectory::~PlaceholderDirectory() {
  if (!directory_.valid()) return;
  if (flock(directory_.get(), LOCK_EX | LOCK_NB) != 0) return;  // another run counts on it
  if (IsStillThere(parent_.get(), name_, directory_.get())) {
    unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);  // stays when it is no longer empty
  }
}

}  // namespace native_runner
