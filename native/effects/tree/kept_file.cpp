#include "effects/tree/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "supervise/os/descriptor.h"

namespace native_runner {
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

Result<std::optional<std::string>> ReadWholeFile(int directory, const std::string& name) {
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
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace native_runner
