#include "supervise/project/mount_points.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

// Grants the owner of a directory, if that is our user, write and search permission for the
// lifetime of this object. Then restores the mode, unless it was changed meanwhile. A command may
// remove these permissions (chmod 555 .), but our entries there must be removed all the same. Works
// on a descriptor, without path look-up. Any thread.
class OwnerAccess {
 public:
  // `directory` may be O_PATH, and must outlive this.
  explicit OwnerAccess(int directory);
  OwnerAccess(const OwnerAccess&) = delete;
  OwnerAccess& operator=(const OwnerAccess&) = delete;
  ~OwnerAccess();

 private:
  int directory_;
  mode_t before_ = 0;
  mode_t given_ = 0;  // 0: not needed, or not permitted
};

constexpr mode_t kAccess = S_IWUSR | S_IXUSR;
constexpr mode_t kModeBits = 07777;

std::optional<mode_t> OwnModeOf(int directory) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_MODE | STATX_UID;
  if (statx(directory, "", AT_EMPTY_PATH, kWanted, &status) != 0) return std::nullopt;
  if (status.stx_uid != geteuid()) return std::nullopt;
  return status.stx_mode & kModeBits;
}

OwnerAccess::OwnerAccess(int directory) : directory_(directory) {
  const auto mode = OwnModeOf(directory);
  if (geteuid() == 0 || !mode || (*mode & kAccess) == kAccess) return;
  before_ = *mode;
  if (SetModeOf(directory, before_ | kAccess)) given_ = before_ | kAccess;
}

OwnerAccess::~OwnerAccess() {
  if (given_ != 0 && OwnModeOf(directory_) == given_) SetModeOf(directory_, before_);
}

constexpr mode_t kDirectoryMode = S_ISVTX | S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr mode_t kFileMode = S_ISVTX | S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
constexpr int kTries = 1000;  // each is lost to another run that just removed the entry

// Does not block on a FIFO in its place.
Descriptor OpenEntry(int parent, const std::string& name, bool is_file) {
  const int only = is_file ? O_NONBLOCK : O_DIRECTORY;
  return Descriptor(openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | only));
}

bool IsEmptyDirectory(int directory) {
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

// Uses statx: fstat(2) and its like need a newer C library than the package promises.
bool Look(int directory, const char* name, struct statx* status) {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  return statx(directory, name, kFlags, STATX_BASIC_STATS, status) == 0;
}

bool HasText(int file, std::string_view text) {
  std::string read(text.size() + 1, '\0');
  const ssize_t size = pread(file, read.data(), read.size(), 0);
  return size >= 0 && std::string_view(read).substr(0, static_cast<std::size_t>(size)) == text;
}

bool HasMark(int entry, bool is_file) {
  struct statx status {};
  return Look(entry, "", &status) && status.stx_uid == geteuid() &&
         (is_file ? S_ISREG(status.stx_mode) : S_ISDIR(status.stx_mode)) &&
         (status.stx_mode & (S_ISVTX | S_IWGRP | S_IWOTH)) == S_ISVTX;
}

bool IsUntouched(int entry, Placeholder::Form form) {
  if (form.is_file) return HasText(entry, form.text);
  return form.may_be_filled || IsEmptyDirectory(entry);
}

// Makes a file that appears under its name only when its text is complete.
int MakeFile(int parent, const std::string& name, std::string_view text) {
  const std::string made = "." + name + ".native-runner-" + std::to_string(syscall(SYS_gettid));
  unlinkat(parent, made.c_str(), 0);  // left by a process that was killed in between
  const Descriptor file(openat(parent, made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
  if (!file.valid()) return errno;
  int error = 0;
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fchmod(file.get(), kFileMode) != 0 ||
      linkat(parent, made.c_str(), parent, name.c_str(), 0) != 0) {
    error = errno;
  }
  unlinkat(parent, made.c_str(), 0);
  return error;
}

int Make(int parent, const std::string& name, Placeholder::Form form) {
  if (form.is_file) return MakeFile(parent, name, form.text);
  return mkdirat(parent, name.c_str(), kDirectoryMode) == 0 ? 0 : errno;
}

}  // namespace

bool Placeholder::IsOne(int parent, const std::string& name, Form form) {
  const Descriptor entry = OpenEntry(parent, name, form.is_file);
  return entry.valid() && HasMark(entry.get(), form.is_file) && IsUntouched(entry.get(), form);
}

Result<std::optional<Placeholder>> Placeholder::Take(int parent, const std::string& name,
                                                     Form form) {
  using Taken = std::optional<Placeholder>;
  const OwnerAccess access(parent);
  for (int i = 0; i < kTries; ++i) {
    const int error = Make(parent, name, form);
    // ENOENT: a process of another pid namespace has used the same temporary name meanwhile.
    if (error != 0 && error != EEXIST && error != ENOENT)
      return SystemError(("make " + name).c_str(), error);
    Descriptor entry = OpenEntry(parent, name, form.is_file);
    if (!entry.valid() && errno != ENOENT) return Taken{};
    if (entry.valid()) {
      if (!HasMark(entry.get(), form.is_file) || !IsUntouched(entry.get(), form)) return Taken{};
      const bool locked = flock(entry.get(), LOCK_SH | LOCK_NB) == 0;
      if (!locked && errno != EWOULDBLOCK) return SystemError("flock", errno);
      if (locked && IsNamed(parent, name, entry.get())) {
        Descriptor own(fcntl(parent, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
        return Taken{Placeholder(std::move(own), std::move(entry), name, form)};
      }
    }
    sched_yield();
  }
  return Error{ErrorCode::kSetup, "cannot hold a placeholder for " + name, "run the command again"};
}

bool Placeholder::FinishLeft(int parent, const std::string& name,
                             const std::function<bool(int entry)>& last) {
  const OwnerAccess access(parent);
  const Descriptor entry = OpenEntry(parent, name, false);
  if (!entry.valid() || !HasMark(entry.get(), false)) return false;
  if (flock(entry.get(), LOCK_EX | LOCK_NB) != 0 || !IsNamed(parent, name, entry.get()))
    return false;
  if (!last(entry.get())) return false;
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) {
    fchmod(entry.get(), kDirectoryMode & ~mode_t{S_ISVTX});
  }
  return true;
}

Placeholder::~Placeholder() {
  if (!entry_.valid()) return;
  if (flock(entry_.get(), LOCK_EX | LOCK_NB) != 0) return;  // another run needs it
  for (int i = 0; i < kTries; ++i) {
    const OwnerAccess access(parent_.get());
    if (!IsNamed(parent_.get(), name_, entry_.get())) return;
    if (form_.is_file && !IsUntouched(entry_.get(), form_)) return;
    if (last_ && !last_(entry_.get())) return;
    if (unlinkat(parent_.get(), name_.c_str(), form_.is_file ? 0 : AT_REMOVEDIR) == 0) return;
    // A directory that is no longer empty stays, and is the user's from now on.
    if (errno == ENOTEMPTY && form_.may_be_filled)
      fchmod(entry_.get(), kDirectoryMode & ~mode_t{S_ISVTX});
    if (errno != EACCES) return;  // EACCES: another run has just restored the mode of the parent
    sched_yield();
  }
}

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
