#include "supervise/host/fingerprint.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

// Lines of proc_pid_status(5) that a child inherits and a command can observe.
constexpr std::array<std::string_view, 10> kInherited = {
    "Umask:",        "Uid:",         "Gid:",     "Groups:",
    "Cap",           "NoNewPrivs:",  "Seccomp:", "Seccomp_filters:",
    "Cpus_allowed:", "Mems_allowed:"};

bool IsInherited(std::string_view line) {
  for (const std::string_view name : kInherited) {
    if (line.starts_with(name)) return true;
  }
  return false;
}

// Adds the limits of the calling thread; takes a few hundred nanoseconds.
void AddLimits(std::string* state) {
  for (int kind = 0; kind < RLIMIT_NLIMITS; ++kind) {
    rlimit limit{};
    syscall(SYS_prlimit64, 0, kind, nullptr, &limit);  // C libraries differ in its parameters
    *state += std::to_string(limit.rlim_cur) + " " + std::to_string(limit.rlim_max) + " ";
  }
  *state += std::to_string(getpriority(PRIO_PROCESS, 0)) + "\n";
}

void AddName(std::string* state) {
  utsname name{};
  uname(&name);
  *state += std::string(name.nodename) + "\n" + name.domainname + "\n";
}

bool OpenOnce(const char* path, Descriptor* into) {
  if (into->valid()) return true;
  auto opened = OpenPath(path, O_RDONLY);
  if (opened) *into = std::move(*opened);
  return into->valid();
}

// Adds nothing if the kernel lacks the file. Returns false if the file is too long.
bool Append(const char* path, Descriptor* file, std::string* state) {
  if (!OpenOnce(path, file)) return true;
  std::array<char, 4096> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  const ssize_t size = pread(file->get(), text.data(), text.size(), 0);
  if (size < 0 || static_cast<std::size_t>(size) == text.size()) return false;
  state->append(text.data(), static_cast<std::size_t>(size));
  return true;
}

}  // namespace

bool HostWatch::AddInherited(std::string* state) {
  AddLimits(state);
  AddName(state);
  return Append("/proc/thread-self/oom_score_adj", &oom_score_, state) &&
         Append("/proc/thread-self/cgroup", &cgroups_, state);
}

std::optional<std::string> HostWatch::State() {
  mount_changes_ = mounts_.Changes();
  if (!mount_changes_ || !OpenOnce("/proc/thread-self/status", &status_)) return std::nullopt;

  std::array<char, 8192> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  const ssize_t size = pread(status_.get(), text.data(), text.size(), 0);
  if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  std::string state = std::to_string(*mount_changes_) + "\n";
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (IsInherited(rest)) state += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (!AddInherited(&state)) return std::nullopt;
  return state;
}

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// File systems take times from a clock that ticks every few milliseconds.
constexpr std::int64_t kTickNs = 20'000'000;

bool IsReplacedSince(const std::string& path, std::int64_t since_ns) {
  NotePath(path);
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_CTIME;
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &status) != 0) return true;
  if ((status.stx_mode & S_IFMT) == S_IFDIR) return false;
  return status.stx_ctime.tv_sec * kSecondNs + status.stx_ctime.tv_nsec >= since_ns;
}

}  // namespace

bool AnyReplacedSince(const std::vector<std::string>& paths, const timespec& since) {
  const std::int64_t since_ns = since.tv_sec * kSecondNs + since.tv_nsec - kTickNs;
  return std::any_of(paths.begin(), paths.end(), [since_ns](const std::string& path) {
    return IsReplacedSince(path, since_ns);
  });
}

namespace {

void Put(std::string* text, std::uint64_t number) {
  *text += std::to_string(number);
  *text += ' ';
}

void Look(int directory, const char* path, int flags, bool is_mount_point, std::string* text) {
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_CTIME | STATX_BTIME;
  if (*path != '\0') NotePath(path);
  struct statx status {};
  if (statx(directory, path, flags, kWanted, &status) != 0) {
    *text += "none\n";
    return;
  }
  Put(text, status.stx_dev_major);
  Put(text, status.stx_dev_minor);
  Put(text, status.stx_ino);
  Put(text, status.stx_mode & S_IFMT);
  if ((status.stx_mode & S_IFMT) == S_IFCHR) {
    Put(text, status.stx_rdev_major);
    Put(text, status.stx_rdev_minor);
  }
  if (is_mount_point) {
    // A directory changes with each file made in it, so its birth time is used.
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

// Returns the host path of a mount point that lies in an earlier bind; else empty.
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
    const bool is_file = mount.kind == Mount::Kind::kCache || mount.kind == Mount::Kind::kDevice;
    if (by_path || is_file) made.paths.push_back({mount.source, false});
    const bool is_same = by_path && mount.source == mount.target;
    if (is_same || mount.kind == Mount::Kind::kWord) continue;
    std::string place = PlaceOnHost(mount, plan.mounts);
    if (!place.empty()) made.paths.push_back({std::move(place), true});
  }
  return made;
}

Fingerprint FingerprintOf(const FingerprintPlan& plan, std::span<const int> bound,
                          std::optional<std::string> state) {
  Fingerprint made;
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
