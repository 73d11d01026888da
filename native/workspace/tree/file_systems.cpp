#include "workspace/tree/file_systems.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {
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
