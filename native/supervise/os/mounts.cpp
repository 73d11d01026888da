#include "supervise/os/mounts.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "protocol/identity.h"
#include "supervise/os/file.h"
#include "supervise/os/process.h"
#include "supervise/os/vfork.h"

namespace native_runner {

std::optional<std::uint64_t> MountTable::Changes() {
  if (!table_.valid()) {
    auto opened = OpenPath("/proc/thread-self/mountinfo", O_RDONLY);
    if (!opened) return std::nullopt;
    table_ = std::move(*opened);
  }
  pollfd table{table_.get(), POLLPRI, 0};
  if (poll(&table, 1, 0) < 0) return std::nullopt;
  if (table.revents != 0) ++changes_;
  return changes_;
}

bool MountTable::AreShared() {
  Look(Changes());
  return shared_;
}

bool MountTable::AreLocal() {
  return AreLocalAt(Changes());
}

bool MountTable::AreLocalAt(std::optional<std::uint64_t> changes) {
  Look(changes);
  return local_;
}

namespace {

// Kinds of file systems that need nothing but this machine. Those that the kernel makes from its
// own data are among them.
constexpr std::string_view kLocalKinds[] = {
    "bcachefs", "bdev",    "binder", "binfmt_misc", "bpf",       "btrfs",    "cgroup", "cgroup2",
    "configfs", "debugfs", "devpts", "devtmpfs",    "efivarfs",  "erofs",    "exfat",  "ext2",
    "ext3",     "ext4",    "f2fs",   "fusectl",     "hugetlbfs", "iso9660",  "jfs",    "mqueue",
    "msdos",    "nilfs2",  "nsfs",   "ntfs3",       "overlay",   "proc",     "pstore", "ramfs",
    "reiserfs", "resctrl", "rootfs", "securityfs",  "selinuxfs", "squashfs", "sysfs",  "tmpfs",
    "tracefs",  "udf",     "vfat",   "xfs",         "zfs",
};

bool IsLocal(const MountLine& mount) {
  if (mount.point.starts_with("/proc/") || mount.point.starts_with("/sys/")) return true;
  return std::ranges::find(kLocalKinds, mount.kind) != std::end(kLocalKinds);
}

bool IsOctal(std::string_view text) {
  return text.size() == 3 &&
         std::ranges::all_of(text, [](char digit) { return digit >= '0' && digit <= '7'; });
}

}  // namespace

std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view code = text.substr(at + 1, 3);
    if (text[at] != '\\' || !IsOctal(code)) {
      plain += text[at];
      continue;
    }
    plain += static_cast<char>((code[0] - '0') * 64 + (code[1] - '0') * 8 + (code[2] - '0'));
    at += 3;
  }
  return plain;
}

std::optional<MountLine> MountLines::Next() {
  if (rest_.empty()) return std::nullopt;
  std::string_view line = TakeUntil(&rest_, '\n');
  MountLine mount;
  TakeUntil(&line, ' ');  // its number, and that of the mount that it is in
  TakeUntil(&line, ' ');
  mount.device = TakeUntil(&line, ' ');
  mount.root = TakeUntil(&line, ' ');
  mount.point = TakeUntil(&line, ' ');
  mount.options = TakeUntil(&line, ' ');
  while (!line.empty() && TakeUntil(&line, ' ') != "-") {
  }
  mount.kind = TakeUntil(&line, ' ');
  mount.source = TakeUntil(&line, ' ');
  return mount;
}

Result<std::string> ReadMountTable(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{8} << 20U;
  TRY_ASSIGN(const Descriptor file, OpenPath(path.c_str(), O_RDONLY));
  std::string text;
  std::array<char, 16'384> part{};
  while (text.size() <= kMost) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(("read of " + path).c_str(), errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return SystemError(("read of " + path).c_str(), EFBIG);
}

bool AreLocalMounts(std::string_view mounts) {
  if (!mounts.ends_with('\n')) return false;
  MountLines lines(mounts);
  while (const auto mount = lines.Next())
    if (!IsLocal(*mount)) return false;
  return true;
}

std::vector<std::string> FarMountPointsOf(std::string_view mounts) {
  std::vector<std::string> far;
  MountLines lines(mounts);
  while (const auto mount = lines.Next())
    if (!IsLocal(*mount)) far.push_back(WithoutEscapes(mount->point));
  return far;
}

std::vector<std::string> MountPointsBelow(std::string_view mounts, const std::string& directory) {
  std::vector<std::string> points;
  MountLines lines(mounts);
  while (const auto mount = lines.Next()) {
    std::string point = WithoutEscapes(mount->point);
    if (PathCovers(directory, point) && !SamePath(directory, point))
      points.push_back(std::move(point));
  }
  return OutermostPaths(std::move(points));
}

std::optional<std::vector<std::string>> MountTable::PointsBelow(const std::string& directory) {
  Look(Changes());
  if (!text_) return std::nullopt;
  return MountPointsBelow(*text_, directory);
}

void MountTable::Look(std::optional<std::uint64_t> changes) {
  if (changes && looked_at_ == changes) return;
  looked_at_ = changes;
  shared_ = true;
  local_ = false;
  far_.clear();
  text_.reset();
  if (!changes) return;
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = pread(table_.get(), part.data(), part.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(part.data(), static_cast<std::size_t>(got));
  if (got < 0) return;
  SharedMounts shared;
  shared.Take(text.data(), text.size());
  shared_ = shared.found();
  local_ = AreLocalMounts(text);
  if (!local_) far_ = FarMountPointsOf(text);
  text_ = std::move(text);
}

namespace {

// Returns the process' number in our own pid namespace; 0 if it can't be determined.
std::uint64_t NumberOf(int pidfd) {
  auto file = OpenPath(("/proc/self/fdinfo/" + std::to_string(pidfd)).c_str(), O_RDONLY);
  std::array<char, 1024> bytes{};
  if (!file || read(file->get(), bytes.data(), bytes.size() - 1) <= 0) return 0;
  constexpr std::string_view kName = "\nPid:\t";
  const std::size_t at = std::string_view(bytes.data()).find(kName);
  if (at == std::string_view::npos) return 0;
  const char* digits = bytes.data() + at + kName.size();
  std::uint64_t number = 0;
  return TakeDecimal(&digits, &number) ? number : 0;
}

// Returns true if the namespace is ours, or if that can't be determined. `link`: our own. Uses
// statx: fstat(2) and its like need a newer C library than the package promises.
bool IsOurs(int descriptor, const char* link) {
  struct statx other {};
  struct statx ours {};
  return statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &other) != 0 ||
         statx(AT_FDCWD, link, 0, STATX_INO, &ours) != 0 ||
         (other.stx_dev_major == ours.stx_dev_major && other.stx_dev_minor == ours.stx_dev_minor &&
          other.stx_ino == ours.stx_ino);
}

struct Entry {
  int user_namespace;  // -1: our own
  int mount_namespace;
  const char* failed_call;
  int error;
};

int Fail(Entry* entry, const char* call) {
  entry->failed_call = call;
  entry->error = errno;
  return 1;
}

// Runs in a process that shares our memory while we wait: only system calls are safe.
int EnterAndCutOff(void* argument) {
  auto* entry = static_cast<Entry*>(argument);
  if (entry->user_namespace >= 0 && setns(entry->user_namespace, CLONE_NEWUSER) != 0) {
    return Fail(entry, "setns(CLONE_NEWUSER)");
  }
  if (setns(entry->mount_namespace, CLONE_NEWNS) != 0) return Fail(entry, "setns(CLONE_NEWNS)");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Fail(entry, "mount(MS_PRIVATE)");
  }
  return 0;
}

std::optional<Error> CutOffInChild(Entry* entry) {
  const long child = RunInVfork(EnterAndCutOff, entry, 0);
  if (child < 0) return SystemError("clone", static_cast<int>(-child));
  waitpid(static_cast<pid_t>(child), nullptr, __WALL);
  if (entry->failed_call != nullptr) return SystemError(entry->failed_call, entry->error);
  return std::nullopt;
}

}  // namespace

std::optional<Error> MakeMountsPrivate(int pidfd) {
  const std::uint64_t number = NumberOf(pidfd);
  const std::string path = "/proc/" + std::to_string(number) + "/ns/mnt";
  auto mounts = OpenPath(path.c_str(), O_RDONLY);
  if (!mounts) return mounts.error();
  if (number == 0 || ProcessHasEnded(pidfd)) return SystemError(path.c_str(), ESRCH);
  if (IsOurs(mounts->get(), "/proc/self/ns/mnt")) {
    return Error{ErrorCode::kSetup, "the mount namespace is the host's own", ""};
  }
  const Descriptor user(ioctl(mounts->get(), NS_GET_USERNS));
  if (!user.valid()) return SystemError("ioctl(NS_GET_USERNS)", errno);
  uid_t owner = 0;
  if (ioctl(user.get(), NS_GET_OWNER_UID, &owner) != 0) {
    return SystemError("ioctl(NS_GET_OWNER_UID)", errno);
  }
  if (owner != geteuid() && geteuid() != 0) return std::nullopt;
  const bool is_our_user = IsOurs(user.get(), "/proc/self/ns/user");
  Entry entry{is_our_user ? -1 : user.get(), mounts->get(), nullptr, 0};
  return CutOffInChild(&entry);
}

namespace {

// Of linux/mount.h, which not all C libraries have in this form.
constexpr unsigned kCloneTree = 1;           // OPEN_TREE_CLONE
constexpr std::uint64_t kReadOnlyMount = 1;  // MOUNT_ATTR_RDONLY
constexpr long kOpenTree = 428;              // SYS_open_tree
constexpr long kSetMountAttributes = 442;    // SYS_mount_setattr
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};

// Returns a read-only mount of the file that no namespace has; invalid if it can't be made.
Descriptor ReadOnlyMountOf(const char* file) {
  Descriptor mount(
      static_cast<int>(syscall(kOpenTree, AT_FDCWD, file, kCloneTree | unsigned{O_CLOEXEC})));
  const MountAttributes attributes{.set = kReadOnlyMount};
  const bool is_read_only =
      mount.valid() && syscall(kSetMountAttributes, mount.get(), "", AT_EMPTY_PATH, &attributes,
                               sizeof attributes) == 0;
  return is_read_only ? std::move(mount) : Descriptor();
}

}  // namespace

Result<Descriptor> OpenNullDevice() {
  constexpr const char* kNull = "/dev/null";
  if (geteuid() == 0) {
    const Descriptor mount = ReadOnlyMountOf(kNull);
    const std::string path = "/proc/self/fd/" + std::to_string(mount.get());
    auto opened = OpenPath(mount.valid() ? path.c_str() : kNull, O_RDWR);
    if (opened) return opened;
  }
  return OpenPath(kNull, O_RDWR);
}

}  // namespace native_runner
