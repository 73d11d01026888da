#include "effects/tree/file_stat.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <new>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

double Milliseconds(const struct statx_timestamp& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Of name_to_handle_at(2), by FNV-1a; 0 where the file system has none, or a filter forbids it.
std::uint64_t HandleOf(int fd) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  alignas(file_handle) std::array<std::uint8_t, sizeof(file_handle) + MAX_HANDLE_SZ> memory{};
  auto* handle = new (memory.data()) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) != 0) return 0;
  std::uint64_t hash = kBasis;
  const std::uint8_t* bytes = memory.data() + offsetof(file_handle, f_handle);
  for (std::size_t i = 0; i < handle->handle_bytes; ++i) {
    hash ^= bytes[i];
    hash *= kPrime;
  }
  return hash;
}

}  // namespace

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

}  // namespace native_runner
