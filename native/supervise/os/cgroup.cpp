#include "supervise/os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "supervise/os/descriptor.h"
#include "supervise/os/mounts.h"
#include "supervise/os/process.h"

namespace native_runner {
namespace {

// bwrap and the launcher are in the group too.
constexpr std::uint64_t kOurProcesses = 2;

// A leaf's name continues with the pid of its host process, "-", the thread, "-", a number.
constexpr std::string_view kLeafPrefix = "native-runner-";

// Where the host process goes, if the delegated group is its own.
constexpr const char* kHostLeaf = "native-runner-host";

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

// systemd gave it away, or it is the root of a cgroup namespace: the real root has no type.
bool IsGiven(const std::string& directory, const std::string& mount) {
  const bool is_root = directory == mount || directory == mount + "/";
  if (is_root && faccessat(AT_FDCWD, (mount + "/cgroup.type").c_str(), F_OK, 0) == 0) return true;
  for (const char* mark : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (getxattr(directory.c_str(), mark, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

bool MayUse(const std::string& directory, const std::string& mount) {
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (faccessat(AT_FDCWD, (directory + file).c_str(), W_OK, AT_EACCESS) != 0) return false;
  }
  return geteuid() != 0 || IsGiven(directory, mount);
}

// The numbers of a group's own processes.
std::vector<pid_t> ProcessesIn(const std::string& directory) {
  std::string text = ReadSmall(directory + "/cgroup.procs");
  std::ranges::replace(text, '\n', ' ');
  std::vector<pid_t> found;
  for (const std::uint64_t number : LeadingNumbers(text))
    found.push_back(static_cast<pid_t>(number));
  return found;
}

// Returns the process and those that it descends from.
std::vector<pid_t> LineOf(pid_t process) {
  constexpr std::size_t kMost = 1000;
  std::vector<pid_t> line;
  while (process > 0 && line.size() < kMost) {
    line.push_back(process);
    const auto facts = LookAtProcess(process);
    process = facts ? facts->parent : 0;
  }
  return line;
}

// True if all processes of a group are this one, those that have started it, and its own.
bool IsOursAlone(const std::string& directory) {
  const std::vector<pid_t> ours = LineOf(getpid());
  const std::vector<pid_t> found = ProcessesIn(directory);
  return std::ranges::all_of(found, [&ours](pid_t process) {
    const auto line = LineOf(process);
    return std::ranges::count(ours, process) != 0 || std::ranges::count(line, getpid()) != 0;
  });
}

// The disk's name for a partition or the whole, and the disks below one that is made of others.
void AddDisks(const std::string& device, int depth, std::vector<std::string>* disks) {
  constexpr int kDeepest = 8;
  const std::string directory = "/sys/dev/block/" + device;
  if (depth == kDeepest) return;
  bool has_others = false;
  if (DIR* const entries = opendir((directory + "/slaves").c_str())) {
    while (const dirent* entry = readdir(entries)) {
      if (entry->d_name[0] == '.') continue;
      std::string below = ReadSmall(directory + "/slaves/" + entry->d_name + "/dev");
      if (below.empty()) continue;
      below.pop_back();
      has_others = true;
      AddDisks(below, depth + 1, disks);
    }
    closedir(entries);
  }
  if (has_others) return;
  const bool is_part = faccessat(AT_FDCWD, (directory + "/partition").c_str(), F_OK, 0) == 0;
  std::string disk = ReadSmall(directory + (is_part ? "/../dev" : "/dev"));
  if (disk.empty()) return;
  disk.pop_back();
  disks->push_back(disk);
}

// Returns MAJOR:MINOR of what a file system without a device of its own is on, such as Btrfs.
std::string SourceOf(const std::string& device) {
  const auto table = ReadMountTable("/proc/self/mountinfo");
  if (!table) return {};
  std::string source;
  MountLines lines(table.value());
  for (auto mount = lines.Next(); mount && source.empty(); mount = lines.Next())
    if (mount->device == device) source = WithoutEscapes(mount->source);
  struct stat state {};
  if (!source.starts_with('/') || fstatat(AT_FDCWD, source.c_str(), &state, 0) != 0 ||
      !S_ISBLK(state.st_mode))
    return {};
  return std::to_string(major(state.st_rdev)) + ":" + std::to_string(minor(state.st_rdev));
}

bool HasWeights(const std::string& disk) {
  const std::string scheduler = ReadSmall("/sys/dev/block/" + disk + "/queue/scheduler");
  if (scheduler.find("[bfq]") != std::string::npos) return true;
  const std::string costs = "\n" + ReadSmall(MountPoint() + "/io.cost.qos");
  const std::size_t line = costs.find("\n" + disk + " ");
  return line != std::string::npos &&
         costs.substr(line, costs.find('\n', line + 1) - line).find("enable=1") !=
             std::string::npos;
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

std::string WhyNoIoWeights(const std::string& path) {
  struct stat state {};
  if (fstatat(AT_FDCWD, path.c_str(), &state, 0) != 0) return path + " can't be looked at";
  std::string device =
      std::to_string(major(state.st_dev)) + ":" + std::to_string(minor(state.st_dev));
  if (major(state.st_dev) == 0) device = SourceOf(device);
  std::vector<std::string> disks;
  if (!device.empty()) AddDisks(device, 0, &disks);
  if (disks.empty()) return path + " is on no disk of this machine";
  for (const std::string& disk : disks) {
    if (!HasWeights(disk)) {
      return "the scheduler of the disk " + disk + ", which " + path +
             " is on, knows no weights, and io.cost is off";
    }
  }
  return {};
}

CgroupParent::CgroupParent(std::string directory, Controllers controllers, bool is_own)
    : directory_(std::move(directory)), controllers_(controllers), is_own_(is_own) {
  RemoveOrphans(directory_);
}

CgroupParent CgroupParent::Detect() {
  const std::string mount = MountPoint();
  const std::string own = OwnPath();
  if (mount.empty() || own.empty()) return {};
  // A group with processes can't delegate controllers to its children, so the delegated group is
  // usually the parent of the host process's own group.
  std::string directory = own == "/" ? mount : mount + own;
  for (int level = 0; level < 2 && directory.size() >= mount.size(); ++level) {
    if (MayUse(directory, mount)) {
      const std::string there = ReadSmall(directory + "/cgroup.controllers");
      const std::string control = directory + "/cgroup.subtree_control";
      // The host's own group takes threaded controllers (pids, cpu), but then no leaves.
      const bool is_own = level == 0;
      if (!is_own) {
        for (const char* each : {"+memory", "+pids"})
          static_cast<void>(WriteSmall(control, each));
      }
      const std::string given = is_own ? there : ReadSmall(control);
      const Controllers controllers = {.memory = HasWord(given, "memory"),
                                       .pids = HasWord(given, "pids"),
                                       .cpu = HasWord(there, "cpu"),
                                       .io = HasWord(there, "io")};
      const bool is_free = !is_own || (IsGiven(directory, mount) && IsOursAlone(directory));
      if (controllers.any() && is_free) return {directory, controllers, is_own};
    }
    if (directory == mount) break;
    directory.resize(directory.rfind('/'));
  }
  return {};
}

// Moves the host process, and those around it, into a group of their own: only a group without
// processes has leaves with limits.
std::optional<Error> CgroupParent::MakeRoom() {
  constexpr int kMostRounds = 100;  // processes may be made meanwhile
  const std::string host = directory_ + "/" + kHostLeaf;
  if (mkdir(host.c_str(), 0755) != 0 && errno != EEXIST)
    return SystemError(("mkdir " + host).c_str(), errno);
  for (int round = 0; round < kMostRounds; ++round) {
    const auto processes = ProcessesIn(directory_);
    if (processes.empty()) break;
    if (!IsOursAlone(directory_)) {
      return Error{ErrorCode::kSetup, "others have processes in the group " + directory_,
                   "move them into a group of their own below it"};
    }
    for (const pid_t process : processes) {
      if (!WriteSmall(host + "/cgroup.procs", std::to_string(process)) && errno != ESRCH)
        return SystemError(("moving a process to " + host).c_str(), errno);
    }
  }
  for (const char* each : {"+memory", "+pids"})
    static_cast<void>(WriteSmall(directory_ + "/cgroup.subtree_control", each));
  is_own_ = false;
  return std::nullopt;
}

Result<std::unique_ptr<Cgroup>> CgroupParent::Create(const Limits& limits) {
  std::erase_if(*stale_, [](const std::string& path) { return rmdir(path.c_str()) == 0; });
  if (is_own_) {
    TRY(MakeRoom());
  }
  const auto enable = [this](const char* controller) {
    return WriteSmall(directory_ + "/cgroup.subtree_control", controller);
  };
  if ((limits.cpu_share && !enable("+cpu")) || (limits.io_share && !enable("+io")))
    return SystemError(("controllers of " + directory_).c_str(), errno);
  const std::string directory = directory_ + "/" + std::string(kLeafPrefix) +
                                std::to_string(getpid()) + "-" +
                                std::to_string(syscall(SYS_gettid)) + "-" + std::to_string(next_++);
  if (mkdir(directory.c_str(), 0755) != 0)
    return SystemError(("mkdir " + directory).c_str(), errno);
  std::unique_ptr<Cgroup> group(new Cgroup(directory));
  group->stale_ = stale_;
  const auto set = [&](const char* file, std::uint64_t value) {
    return WriteSmall(directory + "/" + file, std::to_string(value));
  };
  bool done = true;
  if (controllers_.memory && limits.memory_bytes) {
    done = set("memory.max", *limits.memory_bytes);
    // Without swap accounting the file is missing. With swap, the limit would only move pages to
    // disk.
    done = done && (set("memory.swap.max", 0) || errno == ENOENT);
  }
  if (controllers_.pids && limits.max_processes)
    done = done && set("pids.max", *limits.max_processes + kOurProcesses);
  if (limits.cpu_share) done = done && set("cpu.weight", *limits.cpu_share);
  if (limits.io_share) {
    // Each belongs to one of the kernel's ways to divide a disk; WhyNoIoWeights has found one.
    const bool by_cost = set("io.weight", *limits.io_share);
    const bool by_bfq = set("io.bfq.weight", *limits.io_share);
    done = done && (by_cost || by_bfq);
  }
  if (!done) return SystemError(("limits of " + directory).c_str(), errno);
  return group;
}

}  // namespace native_runner
