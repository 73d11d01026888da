#include "workspace/tree/file_stat.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "policy/transaction/host_file.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr int kBase = 16;
constexpr char kBetween = '-';

void Append(std::string& text, std::uint64_t number) {
  std::array<char, 2 * sizeof(number)> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, kBase).ptr;
  if (!text.empty()) text += kBetween;
  text.append(digits.data(), end);
}

}  // namespace

std::string FileVersion::Text() const {
  std::string text;
  for (const std::uint64_t number : {device, inode, handle, size, modified, changed})
    Append(text, number);
  return text;
}

std::optional<FileVersion> FileVersion::Parse(std::string_view text) {
  FileVersion version;
  const std::array<std::uint64_t*, 6> numbers = {&version.device,   &version.inode,
                                                 &version.handle,   &version.size,
                                                 &version.modified, &version.changed};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* number : numbers) {
    if (number != numbers.front()) {
      if (at == end || *at++ != kBetween) return std::nullopt;
    }
    const auto [next, error] = std::from_chars(at, end, *number, kBase);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(version) : std::nullopt;
}

namespace {

double Milliseconds(const struct statx_timestamp& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// A checksum of what name_to_handle_at(2) returns; 0 where the file system has none, or a filter
// forbids it.
std::uint64_t HandleOf(int fd) {
  alignas(file_handle) std::array<std::uint8_t, sizeof(file_handle) + MAX_HANDLE_SZ> memory{};
  auto* handle = new (memory.data()) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) != 0) return 0;
  const auto* bytes = reinterpret_cast<const char*>(memory.data());
  return ChecksumOf({bytes + offsetof(file_handle, f_handle), handle->handle_bytes});
}

}  // namespace

timespec TimeOf(std::uint64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto time = static_cast<std::int64_t>(nanoseconds);
  const std::int64_t rest = ((time % kSecond) + kSecond) % kSecond;
  return {static_cast<time_t>((time - rest) / kSecond), static_cast<long>(rest)};
}

FileType FileTypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kFile;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  return S_ISLNK(mode) ? FileType::kSymlink : FileType::kOther;
}

FileResult<FileStat> StatOf(int fd, const char* call) {
  struct statx seen {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &seen) != 0) return Refused(call, errno);
  FileStat stat;
  stat.type = FileTypeOf(seen.stx_mode);
  stat.size = seen.stx_size;
  stat.mode = seen.stx_mode & kModeBits;
  stat.modified_ms = Milliseconds(seen.stx_mtime);
  stat.owner = seen.stx_uid;
  stat.group = seen.stx_gid;
  stat.version = {.device = makedev(seen.stx_dev_major, seen.stx_dev_minor),
                  .inode = seen.stx_ino,
                  .handle = HandleOf(fd),
                  .size = seen.stx_size,
                  .modified = Nanoseconds(seen.stx_mtime),
                  .changed = Nanoseconds(seen.stx_ctime)};
  return stat;
}

std::optional<FileError> RefuseNoFile(FileType type, const char* call) {
  switch (type) {
    case FileType::kFile:
      return std::nullopt;
    case FileType::kDirectory:
      return Refused(call, EISDIR);
    case FileType::kSymlink:
      return Refused(call, ELOOP);
    case FileType::kOther:
      break;
  }
  return Refused(call, ENXIO);
}

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

namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr std::string_view kDefaultList = "system.posix_acl_default";

// As <linux/posix_acl_xattr.h> has it, which not every C library's headers bring: a version, then
// entries of a tag, permissions and an id.
constexpr std::size_t kListHeader = 4;
constexpr std::size_t kListEntry = 8;
constexpr std::size_t kMostListBytes = std::size_t{64} << 10U;  // of an attribute (xattr(7))
enum : std::uint16_t { kOwnerTag = 0x01, kMaskTag = 0x10, kOthersTag = 0x20 };

// Empty if there is none; nullopt, with errno(3), if it can't be read.
std::optional<std::string> ListOf(int file) {
  std::string list(kMostListBytes, '\0');
  // A path, since fgetxattr(2) takes no O_PATH descriptor.
  const ssize_t size =
      getxattr(DescriptorPath(file).c_str(), kAccessList, list.data(), list.size());
  if (size < 0) {
    return errno == ENODATA || errno == ENOTSUP ? std::optional<std::string>("") : std::nullopt;
  }
  list.resize(static_cast<std::size_t>(size));
  return list;
}

// Without the permissions that chmod(2) sets.
std::string Fixed(std::string list) {
  for (std::size_t at = kListHeader; at + kListEntry <= list.size(); at += kListEntry) {
    std::uint16_t tag = 0;
    std::memcpy(&tag, list.data() + at, sizeof(tag));
    const bool is_set_by_mode = tag == kOwnerTag || tag == kMaskTag || tag == kOthersTag;
    if (is_set_by_mode) std::memset(list.data() + at + sizeof(tag), 0, sizeof(tag));
  }
  return list;
}

}  // namespace

bool IsAccessList(std::string_view attribute) {
  return attribute == kAccessList || attribute == kDefaultList;
}

bool CopyAccessList(int from, int to) {
  const auto list = ListOf(from);
  if (!list) return false;
  const std::string place = DescriptorPath(to);
  if (!list->empty())
    return setxattr(place.c_str(), kAccessList, list->data(), list->size(), 0) == 0;
  return removexattr(place.c_str(), kAccessList) == 0 || errno == ENODATA || errno == ENOTSUP;
}

bool HaveAlikeAccessLists(int one, int other) {
  const auto first = ListOf(one);
  const auto second = ListOf(other);
  return first && second && Fixed(*first) == Fixed(*second);
}

namespace {

// FS_IOC_GETFSUUID and what it fills (ioctl_fs(2), Linux 6.9), which older headers lack.
struct UuidOfFileSystem {
  std::uint8_t length;
  std::array<std::uint8_t, 16> uuid;
};
constexpr unsigned long kGetUuid = _IOR(0x15, 0, UuidOfFileSystem);

// 0 if the kernel or the file system does not tell it.
std::uint64_t UuidOf(int directory) {
  UuidOfFileSystem found{};
  const Descriptor readable(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid() || ioctl(readable.get(), kGetUuid, &found) != 0) return 0;
  if (found.length == 0 || found.length > found.uuid.size()) return 0;
  std::array<char, sizeof(found.uuid)> bytes{};
  std::memcpy(bytes.data(), found.uuid.data(), found.length);
  return ChecksumOf({bytes.data(), found.length});
}

// As the kernel gives it for a device number (new_encode_dev).
std::uint64_t EncodedNumber(const struct statx& status) {
  constexpr unsigned kLowMinor = 0xff;
  constexpr unsigned kMajorShift = 8;
  constexpr unsigned kHighMinorShift = 12;
  const unsigned minor = status.stx_dev_minor;
  return (minor & kLowMinor) | (status.stx_dev_major << kMajorShift) |
         ((minor & ~kLowMinor) << kHighMinorShift);
}

// 0 if there is none, or if it is the device number in another form, as XFS has it.
std::uint64_t FsidOf(const struct statfs& file_system, const struct statx& status) {
  static_assert(sizeof(file_system.f_fsid) == sizeof(std::uint64_t));
  std::uint64_t fsid = 0;
  std::memcpy(&fsid, &file_system.f_fsid, sizeof(fsid));
  return fsid == EncodedNumber(status) ? 0 : fsid;
}

// 0 if the file system has no handles, or no births: either alone is soon another file's.
std::uint64_t BornHandleOf(int directory) {
  struct statx status {};
  if (statx(directory, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0) {
    return 0;
  }
  alignas(file_handle) std::array<char, sizeof(file_handle) + MAX_HANDLE_SZ> memory{};
  auto* handle = new (memory.data()) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(directory, "", handle, &mount, AT_EMPTY_PATH) != 0) return 0;
  std::string text(memory.data() + offsetof(file_handle, f_handle), handle->handle_bytes);
  PutNumber(&text, Nanoseconds(status.stx_btime));
  return ChecksumOf(text);
}

}  // namespace

void AddFileSystem(const std::string& role, int directory, FileSystemList* list) {
  struct statx status {};
  struct statfs file_system {};
  if (statx(directory, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0 ||
      fstatfs(directory, &file_system) != 0) {
    return;
  }
  NumberedFileSystem added;
  added.role = role;
  added.device = makedev(status.stx_dev_major, status.stx_dev_minor);
  added.id.fsid = FsidOf(file_system, status);
  // The subvolumes of one btrfs have one UUID, and a device number each.
  if (file_system.f_type != BTRFS_SUPER_MAGIC) added.id.uuid = UuidOf(directory);
  if (added.id.uuid == 0 && added.id.fsid == 0) added.id.handle = BornHandleOf(directory);
  list->push_back(std::move(added));
}

}  // namespace native_runner
