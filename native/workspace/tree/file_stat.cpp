#include "workspace/tree/file_stat.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <new>

#include "policy/transaction/host_file.h"
#include "supervise/os/file.h"

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

}  // namespace native_runner
