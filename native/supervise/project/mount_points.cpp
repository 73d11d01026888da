#include "supervise/project/mount_points.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr const char* kFix = "remove it from mounts, or name a directory or a regular file";

// Names a file type that can't be mounted; nullptr if it can.
const char* NameOfType(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
    case S_IFREG:
      return nullptr;
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

bool IsKernels(int file) {
  struct statfs status {};
  if (fstatfs(file, &status) != 0) return true;
  return status.f_type == PROC_SUPER_MAGIC || status.f_type == SYSFS_MAGIC;
}

Result<OpenedMount> Open(const std::vector<HostMount>& mounts, std::size_t index) {
  const HostMount& mount = mounts[index];
  const std::string named =
      HostPathField(mounts, index) + " names \"" + mount.host_path + "\", which ";
  const auto refused = [&named](const std::string& why, const char* fix) {
    return Error{ErrorCode::kSetup, named + why, fix};
  };
  NotePath(mount.host_path);
  OpenedMount opened;
  opened.file = Descriptor(open(mount.host_path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.file.valid()) {
    if (errno == ENOENT) return refused("this host lacks", "remove it from mounts, or create it");
    return refused(std::string("can't be opened: ") + std::strerror(errno), kFix);
  }
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE;
  if (statx(opened.file.get(), "", AT_EMPTY_PATH, kWanted, &status) != 0) {
    return SystemError("statx", errno);
  }
  if (const char* type = NameOfType(status.stx_mode)) {
    const bool is_device = S_ISCHR(status.stx_mode) && PathCovers("/dev", mount.host_path);
    return refused(std::string("is ") + type, is_device ? "name it in devices instead" : kFix);
  }
  opened.is_directory = S_ISDIR(status.stx_mode);
  if (mount.writable && IsKernels(opened.file.get())) {
    return refused("is the kernel's own, and must not be written", R"(mount it with mode "ro")");
  }
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(opened.file.get());
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0) return SystemError(("readlink " + link).c_str(), errno);
  opened.path.assign(path.data(), static_cast<std::size_t>(size));
  return opened;
}

}  // namespace

Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts) {
  std::vector<OpenedMount> opened;
  opened.reserve(mounts.size());
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    auto mount = Open(mounts, i);
    if (!mount) return mount.error();
    opened.push_back(std::move(*mount));
  }
  return opened;
}

namespace {

constexpr const char* kCreate = "create it on the host, or mount elsewhere";
constexpr const char* kElsewhere = "mount elsewhere, or change it on the host";

class Walk {
 public:
  Walk(const MountPoint& point, const std::vector<HostMount>& mounts,
       const std::vector<OpenedMount>& opened, bool plan_only)
      : point_(point),
        guest_path_(mounts[point.mount].guest_path),
        is_directory_(opened[point.mount].is_directory),
        plan_only_(plan_only) {}

  // `base`: O_PATH. Returns nullopt if the mount point exists.
  Result<std::optional<Placeholder>> Down(int base) {
    path_ = point_.base_path;
    if (point_.below.empty()) return Look(base, "");
    const auto components = PathComponents(point_.below);
    Descriptor entered;
    for (std::size_t i = 0; i + 1 < components.size(); ++i) {
      const std::string name(components[i]);
      path_ = JoinPath(path_, name);
      NotePath(path_);
      Descriptor next(openat(base, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!next.valid()) return Refused(std::strerror(errno), kCreate);
      if (auto error = RefuseAllBut(S_IFDIR, next.get(), "")) return *error;
      entered = std::move(next);
      base = entered.get();
    }
    const std::string name(components.back());
    path_ = JoinPath(path_, name);
    NotePath(path_);
    return Look(base, name);
  }

 private:
  Result<std::optional<Placeholder>> Look(int directory, const std::string& name) {
    const Placeholder::Form form{.is_file = !is_directory_, .text = ""};
    const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    struct statx status {};
    const bool there = statx(directory, name.c_str(), flags, STATX_TYPE, &status) == 0;
    if (!there && (errno != ENOENT || !point_.may_make)) {
      return Refused(std::strerror(errno), errno == ENOENT ? kCreate : kElsewhere);
    }
    const bool is_ours =
        there && !name.empty() && point_.may_make && Placeholder::IsOne(directory, name, form);
    if (!there || is_ours) {
      if (plan_only_) return std::optional<Placeholder>{};
      auto taken = Placeholder::Take(directory, name, form);
      if (!taken) return Refused("nothing can be made there: " + taken.error().message, kCreate);
      if (*taken) return taken;
    }
    if (auto error = RefuseAllBut(is_directory_ ? S_IFDIR : S_IFREG, directory, name))
      return *error;
    return std::optional<Placeholder>{};
  }

  // `wanted`: S_IFDIR, or S_IFREG for anything on which a file can be mounted.
  std::optional<Error> RefuseAllBut(mode_t wanted, int directory, const std::string& name) const {
    struct statx status {};
    if (statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_TYPE, &status) !=
        0) {
      return Refused(std::strerror(errno), kElsewhere);
    }
    if (S_ISLNK(status.stx_mode)) return Refused("it is a symbolic link", kElsewhere);
    if (S_ISDIR(status.stx_mode) == (wanted == S_IFDIR)) return std::nullopt;
    return Refused(wanted == S_IFDIR ? "it is no directory" : "it is a directory", kElsewhere);
  }

  Error Refused(const std::string& why, const char* fix) const {
    std::string message("mounts[");
    message += std::to_string(point_.mount);
    message += "].guestPath ";
    message += QuotedShort(guest_path_);
    message += " can't be mounted upon, which is ";
    message += QuotedShort(path_);
    message += " on the host: ";
    message += why;
    return {ErrorCode::kSetup, std::move(message), fix};
  }

  const MountPoint& point_;
  const std::string& guest_path_;
  bool is_directory_;  // type of the mount
  bool plan_only_;
  std::string path_;  // on the host, for error messages
};

}  // namespace

Result<std::vector<Placeholder>> HoldMountPoints(const std::vector<MountPoint>& points,
                                                 const std::vector<HostMount>& mounts,
                                                 const std::vector<OpenedMount>& opened,
                                                 const Workspace& workspace, bool plan_only) {
  std::vector<Placeholder> held;
  for (const MountPoint& point : points) {
    Descriptor bound;
    int base = workspace.directory.get();
    if (point.base == MountPoint::Base::kMount) base = opened[point.base_mount].file.get();
    if (point.base == MountPoint::Base::kReadOnlyBind) {
      auto file = OpenPath(point.base_path.c_str(), O_PATH);
      if (!file) return file.error();
      bound = std::move(*file);
      base = bound.get();
    }
    auto place = Walk(point, mounts, opened, plan_only).Down(base);
    if (!place) return place.error();
    if (*place) held.push_back(std::move(**place));
  }
  return held;
}

}  // namespace native_runner
