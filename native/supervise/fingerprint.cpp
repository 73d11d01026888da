#include "supervise/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "policy/path.h"

namespace native_runner {
namespace {

enum class Use { kSource, kMountPoint };

void Put(std::string* text, std::uint64_t number) {
  *text += std::to_string(number);
  *text += ' ';
}

void Look(int directory, const char* path, int flags, Use use, std::string* text) {
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_CTIME | STATX_BTIME;
  struct statx status {};
  if (statx(directory, path, flags, kWanted, &status) != 0) {
    *text += "none\n";
    return;
  }
  Put(text, status.stx_dev_major);
  Put(text, status.stx_dev_minor);
  Put(text, status.stx_ino);
  Put(text, status.stx_mode & S_IFMT);
  if (use == Use::kMountPoint) {
    // A directory changes whenever a file is made in it: there its birth is enough.
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    const bool is_directory = (status.stx_mode & S_IFMT) == S_IFDIR;
    const auto& time = is_directory && has_birth ? status.stx_btime : status.stx_ctime;
    Put(text, static_cast<std::uint64_t>(time.tv_sec));
    Put(text, time.tv_nsec);
  }
  *text += '\n';
}

bool IsBind(const Mount& mount) {
  return mount.kind == Mount::Kind::kBind || mount.kind == Mount::Kind::kReadOnlyBind;
}

// Whether the mount's place inside is one of the host's own, seen through a bind made before.
bool IsOnHost(const Mount& mount, const std::vector<Mount>& mounts) {
  for (const Mount& before : mounts) {
    if (&before == &mount) return false;
    if (IsBind(before) && PathCovers(before.target, mount.target)) return true;
  }
  return false;
}

}  // namespace

Fingerprint FingerprintOf(const BubblewrapPlan& plan, int workspace, HostWatch* watch) {
  Fingerprint made;
  auto state = watch->State();
  if (!state) return made;
  BubblewrapPlan unsized = plan;
  for (Mount& mount : unsized.mounts) {
    if (mount.size_bytes > 0) made.tmp_bytes = std::exchange(mount.size_bytes, 0);
  }
  std::string& text = made.host;
  text = std::move(*state);
  for (const std::string& option : BubblewrapOptions(unsized)) {
    text += option;
    text += '\0';
  }
  Look(workspace, "", AT_EMPTY_PATH, Use::kSource, &text);
  for (const Mount& mount : plan.mounts) {
    const bool by_path = IsBind(mount) && mount.descriptor < 0;
    if (by_path) Look(AT_FDCWD, mount.source.c_str(), 0, Use::kSource, &text);
    const bool is_same = by_path && mount.source == mount.target;
    if (!is_same && mount.kind != Mount::Kind::kWord && IsOnHost(mount, plan.mounts)) {
      Look(AT_FDCWD, mount.target.c_str(), AT_SYMLINK_NOFOLLOW, Use::kMountPoint, &text);
    }
  }
  return made;
}

}  // namespace native_runner
