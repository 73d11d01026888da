#include "supervise/os/file.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "policy/transaction/file_systems.h"
#include "supervise/os/file_threads.h"

namespace native_runner {

std::string RealPath(const std::string& path) {
  NotePath(path);
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? "" : resolved.data();
}

Result<FileIdentity> IdentityOf(int descriptor) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &status) != 0) {
    return SystemError("statx", errno);
  }
  return FileIdentity{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}

std::string NamedFile(const FileIdentity& identity, const std::string& path) {
  return std::to_string(identity.device) + ":" + std::to_string(identity.inode) + ":" + path;
}

Result<std::string> NamedDirectory(const std::string& path) {
  NotePath(path);
  TRY_ASSIGN(const auto directory, OpenPath(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  TRY_ASSIGN(const auto identity, IdentityOf(directory.get()));
  return NamedFile(identity, path);
}

PathStamp StampOf(const std::string& path) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_CTIME;
  if (statx(AT_FDCWD, path.c_str(), 0, kWanted, &status) != 0) return {};
  return {.device_major = status.stx_dev_major,
          .device_minor = status.stx_dev_minor,
          .inode = status.stx_ino,
          .changed_ns = Nanoseconds(status.stx_ctime)};
}

// Resolves a ".." after the links before it, as the kernel does.
std::string RealPathAsFar(const std::string& path) {
  std::string there = path;
  std::string rest;
  std::string real = RealPath(there);
  while (real.empty() && there.size() > 1) {
    const std::size_t end = there.find_last_not_of('/');
    const std::size_t slash = there.rfind('/', end);
    if (end == std::string::npos || slash == std::string::npos) break;
    const std::string_view name = std::string_view(there).substr(slash + 1, end - slash);
    rest = std::string("/").append(name).append(rest);
    there.resize(slash == 0 ? 1 : slash);
    real = RealPath(there);
  }
  return NormalPath(real + rest);
}

std::optional<std::string> ReadLink(int directory, const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlinkat(directory, path.c_str(), text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

bool IsNamed(int directory, const std::string& name, int file) {
  struct statx there {};
  struct statx ours {};
  return statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO, &there) == 0 &&
         statx(file, "", AT_EMPTY_PATH, STATX_INO, &ours) == 0 && there.stx_ino == ours.stx_ino &&
         there.stx_dev_major == ours.stx_dev_major && there.stx_dev_minor == ours.stx_dev_minor;
}

bool SetModeOf(int file, mode_t mode) {
  return chmod(("/proc/self/fd/" + std::to_string(file)).c_str(), mode) == 0;
}

Result<std::string> PathOf(int descriptor) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0) return SystemError(("readlink " + link).c_str(), errno);
  return std::string(path.data(), static_cast<std::size_t>(size));
}

Result<std::string> ReadText(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  TRY_ASSIGN(const auto file, OpenPath(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  std::string text(std::size_t{64} << 10U, '\0');
  std::size_t size = 0;
  while (size < kMostBytes) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

Result<Workspace> OpenWorkspace(const std::string& shadow_dir) {
  NotePath(shadow_dir);
  const int fd = open(shadow_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return Error{ErrorCode::kSetup,
                 "shadowDir must be a directory when a run starts, got \"" + shadow_dir +
                     "\": " + std::strerror(errno),
                 "create the directory before calling exec"};
  }
  Workspace workspace{Descriptor(fd), {}};
  // O_PATH asks the file system nothing. One that does not answer shall be met here, where the
  // thread can be left behind, and not in the sandbox.
  struct statx status {};
  static_cast<void>(statx(fd, ".", 0, STATX_BASIC_STATS, &status));
  auto path = PathOf(fd);
  if (!path) return path.error();
  workspace.path = std::move(*path);
  return workspace;
}

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

// Waits until the clock is past this moment, at most 100 ms: no kernel ticks as slowly.
void WaitPast(std::uint64_t moment) {
  constexpr timespec kMoment = {0, 500'000};
  constexpr int kMost = 200;
  for (int left = kMost; left > 0 && FileClock() <= moment; --left)
    nanosleep(&kMoment, nullptr);
}

}  // namespace

std::uint64_t FileClock() {
  return Now(CLOCK_REALTIME_COARSE);
}

std::uint64_t WaitForTick() {
  const std::uint64_t now = Now(CLOCK_REALTIME);
  WaitPast(now);
  return now;
}

std::uint64_t WaitForTickOf(int descriptor, std::uint64_t changed_ns) {
  struct statx status {};
  const bool is_known =
      statx(descriptor, "", AT_EMPTY_PATH, STATX_CTIME | STATX_MTIME, &status) == 0;
  const auto is_coarse = [](const struct statx_timestamp& time) { return IsCoarse(time.tv_nsec); };
  if (!is_known || !is_coarse(status.stx_ctime)) {
    if (changed_ns == 0) return WaitForTick();
    WaitPast(changed_ns);
    return changed_ns;
  }
  WaitUntilPast(FileClock() / kSecond * kSecond);
  return WaitForTick();
}

void WaitUntilPast(std::uint64_t changed_ns) {
  constexpr timespec kMoment = {0, 5'000'000};
  constexpr std::uint64_t kMostAhead = 100'000'000;
  constexpr int kMost = 500;  // more than the coarsest tick
  if (IsCoarse(changed_ns)) {
    const bool is_ahead = changed_ns > FileClock() + kMostAhead;
    for (int left = kMost; left > 0 && !is_ahead && MayBeSince(changed_ns, FileClock()); --left)
      nanosleep(&kMoment, nullptr);
    return;
  }
  // Changes made now differ anyway from a ctime in the far future.
  if (changed_ns <= FileClock() + kMostAhead) WaitPast(changed_ns);
}

}  // namespace native_runner
