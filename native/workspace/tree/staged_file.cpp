#include "workspace/tree/staged_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

namespace native_runner {
namespace {

constexpr int kMostTries = 16;  // a name that is taken is another's guess, 64 bits long

// Empty where there is no random number to be had.
std::string NewName() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::array<std::uint8_t, 8> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return "";
  std::string name = ".native-runner-";
  for (const unsigned byte : random) {
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 0xFU];
  }
  return name;
}

int RenameAt2(int directory, const std::string& from, const std::string& to, unsigned flags) {
  return static_cast<int>(
      syscall(SYS_renameat2, directory, from.c_str(), directory, to.c_str(), flags));
}

// Whether O_TMPFILE is what the file system, or an old kernel, can't do.
bool HasNoNameless(int number) {
  return number == EOPNOTSUPP || number == EISDIR || number == ENOENT || number == EINVAL;
}

}  // namespace

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_(other.directory_),
      file_(std::move(other.file_)),
      own_name_(std::exchange(other.own_name_, {})) {}

FileResult<StagedFile> StagedFile::Make(int directory, mode_t mode) {
  const int nameless = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (nameless >= 0) return StagedFile(directory, Descriptor(nameless), "");
  if (!HasNoNameless(errno)) return Refused("open", errno);
  for (int i = 0; i < kMostTries; ++i) {
    std::string name = NewName();
    if (name.empty()) return Refused("open", EAGAIN);
    const int fd =
        openat(directory, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0) return StagedFile(directory, Descriptor(fd), std::move(name));
    if (errno != EEXIST) return Refused("open", errno);
  }
  return Refused("open", EEXIST);
}

void StagedFile::RemoveName() {
  if (!own_name_.empty()) unlinkat(directory_, own_name_.c_str(), 0);
  own_name_.clear();
}

FileResult<Done> StagedFile::LinkTo(const std::string& name) {
  const std::string file = DescriptorPath(get());
  if (linkat(AT_FDCWD, file.c_str(), directory_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return Done{};
  }
  const int number = errno;
  if (number == ENOENT) {
    if (auto why = WhyNoDescriptorPath()) return std::move(*why);
  }
  return Refused("link", number);
}

FileResult<Done> StagedFile::EnsureName() {
  for (int i = 0; own_name_.empty(); ++i) {
    std::string name = NewName();
    if (name.empty()) return Refused("link", EAGAIN);
    const auto linked = LinkTo(name);
    if (linked) {
      own_name_ = std::move(name);
    } else if (linked.error().number != EEXIST || i == kMostTries) {
      return linked.error();
    }
  }
  return Done{};
}

FileResult<Done> StagedFile::LinkAs(const std::string& name) {
  if (own_name_.empty()) return LinkTo(name);
  if (RenameAt2(directory_, own_name_, name, RENAME_NOREPLACE) == 0) {
    own_name_.clear();
    return Done{};
  }
  if (errno != EINVAL && errno != ENOSYS) return Refused("rename", errno);
  if (linkat(directory_, own_name_.c_str(), directory_, name.c_str(), 0) != 0) {
    return Refused("link", errno);
  }
  RemoveName();
  return Done{};
}

FileResult<Done> StagedFile::Replace(const std::string& name) {
  auto named = EnsureName();
  if (!named) return named;
  if (renameat(directory_, own_name_.c_str(), directory_, name.c_str()) != 0) {
    return Refused("rename", errno);
  }
  own_name_.clear();
  return Done{};
}

FileResult<std::string> StagedFile::Exchange(const std::string& name) {
  const auto named = EnsureName();
  if (!named) return named.error();
  if (RenameAt2(directory_, own_name_, name, RENAME_EXCHANGE) != 0) {
    return Refused("rename", errno);
  }
  return own_name_;
}

namespace {

constexpr mode_t kOwnersFile = 0600;

std::optional<Error> WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("write", errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

std::optional<Error> Stage(int directory, const std::string& staged, const std::string& text,
                           bool is_durable) {
  const Descriptor file(openat(directory, staged.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kOwnersFile));
  if (!file.valid()) return SystemError("openat", errno);
  if (auto error = WriteAll(file.get(), text)) return error;
  if (is_durable && fsync(file.get()) != 0) return SystemError("fsync", errno);
  return std::nullopt;
}

}  // namespace

std::string StagedName(const std::string& name) {
  return name + ".new";
}

std::optional<Error> ReplaceFile(int directory, const std::string& name, const std::string& text,
                                 bool is_durable) {
  if (text.size() > kMostWholeFile) return SystemError("write", EFBIG);
  const std::string staged = StagedName(name);
  if (auto error = Stage(directory, staged, text, is_durable)) {
    unlinkat(directory, staged.c_str(), 0);  // a disk that is full has no room for half of it
    return error;
  }
  if (renameat(directory, staged.c_str(), directory, name.c_str()) != 0) {
    return SystemError("renameat", errno);
  }
  if (is_durable && fsync(directory) != 0) return SystemError("fsync", errno);
  return std::nullopt;
}

Result<std::optional<std::string>> ReadWholeFile(int directory, const std::string& name,
                                                 std::size_t most) {
  const Descriptor file(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ENOENT) return std::optional<std::string>();
    return SystemError("openat", errno);
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return SystemError("fstat", errno);
  if (!S_ISREG(status.st_mode)) return SystemError("openat", EINVAL);
  std::string text;
  std::array<char, 16'384> block{};
  for (;;) {
    const ssize_t count = read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read", errno);
    if (count == 0) return std::optional(std::move(text));
    if (text.size() + static_cast<std::size_t>(count) > most) return SystemError("read", EFBIG);
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

Result<std::string> NewId() {
  std::array<unsigned char, 6> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return SystemError("getrandom", errno);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4U];
    id += kDigits[byte & 15U];
  }
  return id;
}

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace native_runner
