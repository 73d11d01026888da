#include "supervise/host/fingerprint.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

void Put(std::string* text, std::uint64_t number) {
  *text += std::to_string(number);
  *text += ' ';
}

void Look(int directory, const char* path, int flags, bool is_mount_point, std::string* text) {
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
  if (is_mount_point) {
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

// Where the mount's place is on the host, which has it if it is seen through a bind made before;
// else empty.
std::string PlaceOnHost(const Mount& mount, const std::vector<Mount>& mounts) {
  const Mount* last = nullptr;
  for (const Mount& before : mounts) {
    if (&before == &mount) break;
    if (IsBind(before) && PathCovers(before.target, mount.target)) last = &before;
  }
  if (last == nullptr) return "";
  const std::size_t above = NormalPath(last->target).size();
  return NormalPath(last->source + "/" + NormalPath(mount.target).substr(above));
}

}  // namespace

FingerprintPlan PlanFingerprint(const BubblewrapPlan& plan) {
  FingerprintPlan made;
  BubblewrapPlan unsized = plan;
  for (Mount& mount : unsized.mounts) {
    if (mount.size_bytes > 0) made.tmp_bytes = std::exchange(mount.size_bytes, 0);
  }
  for (const std::string& option : BubblewrapOptions(unsized)) {
    made.options += option;
    made.options += '\0';
  }
  for (const Mount& mount : plan.mounts) {
    const bool by_path = IsBind(mount) && mount.descriptor < 0;
    if (by_path) made.paths.push_back({mount.source, false});
    const bool is_same = by_path && mount.source == mount.target;
    if (is_same || mount.kind == Mount::Kind::kWord) continue;
    std::string place = PlaceOnHost(mount, plan.mounts);
    if (!place.empty()) made.paths.push_back({std::move(place), true});
  }
  return made;
}

Fingerprint FingerprintOf(const FingerprintPlan& plan, std::span<const int> bound,
                          HostWatch* watch) {
  Fingerprint made;
  auto state = watch->State();
  if (!state) return made;
  made.tmp_bytes = plan.tmp_bytes;
  made.asker = plan.asker;
  std::string& text = made.host;
  text = std::move(*state);
  text += plan.options;
  for (const int each : bound)
    Look(each, "", AT_EMPTY_PATH, false, &text);
  for (const auto& [path, is_mount_point] : plan.paths) {
    const int flags = is_mount_point ? AT_SYMLINK_NOFOLLOW : 0;
    Look(AT_FDCWD, path.c_str(), flags, is_mount_point, &text);
  }
  return made;
}

std::vector<std::string> PathsOf(const FingerprintPlan& plan) {
  std::vector<std::string> paths;
  for (const auto& watched : plan.paths)
    paths.push_back(watched.path);
  return paths;
}

std::vector<std::string> MountPointsOf(const FingerprintPlan& plan) {
  std::vector<std::string> paths;
  for (const auto& [path, is_mount_point] : plan.paths) {
    if (is_mount_point) paths.push_back(path);
  }
  return paths;
}

std::string LookAtMountPoints(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths)
    Look(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, true, &text);
  return text;
}

}  // namespace native_runner
