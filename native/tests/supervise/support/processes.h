#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "supervise/os/process.h"
#include "tests/support/slow.h"

namespace native_runner {

inline int CountDescriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    if (!entry.path().empty()) ++count;
  }
  return count;
}

// Counts the children of this process, including dead ones that were not reaped.
inline int CountChildren() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;
    const std::size_t name_end = stat.rfind(')');  // "pid (name) state parent ..."
    if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
    if (std::stoi(stat.substr(name_end + 4)) == getpid()) ++count;
  }
  return count;
}

// The living children of `parent`.
inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
    if (stat[name_end + 2] != 'Z' && std::stoi(stat.substr(name_end + 4)) == parent) {
      children.push_back(std::stoi(entry.path().filename()));
    }
  }
  return children;
}

// True if a child has executed its program. Until then it has our memory (posix_spawn(3) is a
// vfork(2)), and a signal that stops it also stops the thread that spawns it.
inline bool HasExecuted(pid_t child) {
  const auto program = [](const std::string& of) {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/" + of + "/exe", none);
  };
  return program(std::to_string(child)) != program("self");
}

// Processes of the whole host with `mark` in their command line.
inline int CountMarked(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ostringstream cmdline;  // empty for a process that ends while it is read
    cmdline << std::ifstream(entry.path() / "cmdline", std::ios::binary).rdbuf();
    if (cmdline.str().find(mark) != std::string::npos) ++count;
  }
  return count;
}

// False for a process that is gone, or dead and only waits to be reaped.
inline bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return false;
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

// For a process without a report of its end, which may come a moment after that of its descriptors.
inline bool IsGoneSoon(pid_t pid) {
  for (int turn = 0; turn < Slow(2'000) && IsAlive(pid); ++turn)
    usleep(1'000);
  return !IsAlive(pid);
}

// Waits until the process behind a pidfd has exited.
inline bool WaitForExit(int pidfd, int timeout_ms = 20'000) {
  pollfd watched{pidfd, POLLIN, 0};
  return poll(&watched, 1, timeout_ms) == 1;
}

inline std::string ReadToEnd(int fd) {
  std::string text;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t got = read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

// An order for `/bin/sh -c script`.
inline SpawnOptions ShellOrder(const std::string& script) {
  SpawnOptions order;
  order.path = "/bin/sh";
  order.argv = {"sh", "-c", script};
  return order;
}

// Kills and reaps a child at the end of a test, whatever became of it.
class KilledAtEnd {
 public:
  explicit KilledAtEnd(Child* child) : child_(child) {}
  ~KilledAtEnd() {
    child_->Signal(SIGKILL);
    WaitForExit(child_->pidfd());
    child_->Reap();
  }
  KilledAtEnd(const KilledAtEnd&) = delete;
  KilledAtEnd& operator=(const KilledAtEnd&) = delete;

 private:
  Child* child_;
};

}  // namespace native_runner
