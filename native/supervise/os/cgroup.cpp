#include "supervise/os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

// bwrap and the launcher are in the group too.
constexpr std::uint64_t kOurProcesses = 2;

// A leaf's name continues with the pid of its host process, "-", the thread, "-", a number.
constexpr std::string_view kLeafPrefix = "native-runner-";

std::string ReadSmall(const std::string& path) {
  const auto file = OpenPath(path.c_str(), O_RDONLY);
  if (!file) return {};
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = read(file.value().get(), part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

bool WriteSmall(const std::string& path, const std::string& value) {
  const auto file = OpenPath(path.c_str(), O_WRONLY);
  return file && write(file.value().get(), value.data(), value.size()) ==
                     static_cast<ssize_t>(value.size());
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || text[at - 1] == ' ';
    if (starts && (end == text.size() || text[end] == ' ' || text[end] == '\n')) return true;
  }
  return false;
}

// Returns this process's path in the v2 hierarchy: the line "0::/path" of /proc/self/cgroup.
std::string OwnPath() {
  const std::string groups = ReadSmall("/proc/self/cgroup");
  const std::size_t line = groups.starts_with("0::") ? 0 : groups.find("\n0::");
  if (line == std::string::npos) return {};
  const std::size_t start = groups.find("0::", line) + 3;
  return groups.substr(start, groups.find('\n', start) - start);
}

// Returns the mount point of cgroup v2: on its own, or beside v1 ("unified").
std::string MountPoint() {
  for (const char* candidate : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (faccessat(AT_FDCWD, (std::string(candidate) + "/cgroup.controllers").c_str(), F_OK, 0) ==
        0) {
      return candidate;
    }
  }
  return {};
}

bool Delegated(const std::string& directory) {
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (faccessat(AT_FDCWD, (directory + file).c_str(), W_OK, AT_EACCESS) != 0) return false;
  }
  if (geteuid() != 0) return true;
  for (const char* mark : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (getxattr(directory.c_str(), mark, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

// Returns true if the leaf was made by a host process that ended without removing it.
bool IsOrphaned(std::string_view name) {
  if (!name.starts_with(kLeafPrefix)) return false;
  name.remove_prefix(kLeafPrefix.size());
  pid_t host = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), host);
  if (parsed.ec != std::errc() || host <= 0 ||
      !name.substr(static_cast<std::size_t>(parsed.ptr - name.data())).starts_with('-'))
    return false;
  return kill(host, 0) != 0 && errno == ESRCH;
}

// rmdir(2) refuses a group with processes. This protects a leaf in use of a host process in another
// pid namespace, whose pid is meaningless here.
void RemoveOrphans(const std::string& directory) {
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    if (IsOrphaned(entry->d_name)) rmdir((directory + "/" + entry->d_name).c_str());
  }
  closedir(entries);
}

}  // namespace

Cgroup::~Cgroup() {
  if (rmdir(directory_.c_str()) != 0 && errno == EBUSY && stale_) stale_->push_back(directory_);
}

bool Cgroup::Add(pid_t pid) const {
  return WriteSmall(directory_ + "/cgroup.procs", std::to_string(pid));
}

Result<Descriptor> Cgroup::OpenDirectory() const {
  return OpenPath(directory_.c_str(), O_RDONLY | O_DIRECTORY);
}

bool Cgroup::MemoryKilled() const {
  const std::string events = ReadSmall(directory_ + "/memory.events");
  constexpr std::string_view kField = "oom_kill ";
  const std::size_t at = events.find(kField);
  if (at == std::string::npos) return false;
  std::uint64_t count = 0;
  std::from_chars(events.data() + at + kField.size(), events.data() + events.size(), count);
  return count > 0;
}

CgroupParent::CgroupParent(std::string directory, bool memory, bool pids)
    : directory_(std::move(directory)), memory_(memory), pids_(pids) {
  RemoveOrphans(directory_);
}

CgroupParent CgroupParent::Detect() {
  const std::string mount = MountPoint();
  const std::string own = OwnPath();
  if (mount.empty() || own.empty()) return {};
  // A group with processes can't delegate controllers to its children, so the delegated group is
  // usually the parent of the host process's own group.
  std::string directory = mount + own;
  for (int level = 0; level < 2 && directory.size() > mount.size(); ++level) {
    if (Delegated(directory)) {
      static_cast<void>(WriteSmall(directory + "/cgroup.subtree_control", "+memory +pids"));
      const std::string given = ReadSmall(directory + "/cgroup.subtree_control");
      const bool memory = HasWord(given, "memory");
      const bool pids = HasWord(given, "pids");
      if (memory || pids) return {directory, memory, pids};
    }
    directory.resize(directory.rfind('/'));
  }
  return {};
}

Result<std::unique_ptr<Cgroup>> CgroupParent::Create(const Limits& limits) {
  std::erase_if(*stale_, [](const std::string& path) { return rmdir(path.c_str()) == 0; });
  const std::string directory = directory_ + "/" + std::string(kLeafPrefix) +
                                std::to_string(getpid()) + "-" +
                                std::to_string(syscall(SYS_gettid)) + "-" + std::to_string(next_++);
  if (mkdir(directory.c_str(), 0755) != 0)
    return SystemError(("mkdir " + directory).c_str(), errno);
  std::unique_ptr<Cgroup> group(new Cgroup(directory));
  group->stale_ = stale_;
  const auto set = [&](const char* file, const std::string& value) {
    return WriteSmall(directory + "/" + file, value);
  };
  bool done = true;
  if (memory_ && limits.memory_bytes) {
    done = set("memory.max", std::to_string(*limits.memory_bytes));
    // Without swap accounting the file is missing. With swap, the limit would only move pages to
    // disk.
    done = done && (set("memory.swap.max", "0") || errno == ENOENT);
  }
  if (pids_ && limits.max_processes) {
    done = done && set("pids.max", std::to_string(*limits.max_processes + kOurProcesses));
  }
  if (!done) return SystemError(("limits of " + directory).c_str(), errno);
  return group;
}

}  // namespace native_runner
