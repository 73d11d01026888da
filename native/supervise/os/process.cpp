#include "supervise/os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <system_error>

#include "policy/text/text.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "supervise/os/file.h"
#include "supervise/os/vfork.h"

namespace native_runner {
namespace {

// Returns the first number above all target numbers. Our descriptors are kept above it, so that
// placing one cannot overwrite another that is still to be placed.
int FirstFree(const std::vector<Inherited>& inherited) {
  int first = 3;
  for (const Inherited& each : inherited)
    first = std::max(first, each.number + 1);
  return first;
}

constexpr int kWaitByPidfd = 3;  // P_PIDFD, Linux 5.4; missing in older C libraries

// Duplicates a program named by one of our descriptors if its number may be reassigned to another.
std::optional<Error> KeepProgram(int first_free, SpawnOptions* order) {
  constexpr std::string_view kPrefix = "/proc/self/fd/";
  if (!order->path.starts_with(kPrefix)) return std::nullopt;
  const char* digits = order->path.c_str() + kPrefix.size();
  std::uint64_t number = 0;
  if (!TakeDecimal(&digits, &number) || number >= static_cast<std::uint64_t>(first_free)) {
    return std::nullopt;
  }
  const int raised = fcntl(static_cast<int>(number), F_DUPFD_CLOEXEC, first_free);
  if (raised < 0) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
  order->owned.emplace_back(raised);
  order->path.replace(kPrefix.size(), std::string::npos, std::to_string(raised));
  return std::nullopt;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  int Duplicate(int source, int number) {
    return posix_spawn_file_actions_adddup2(&actions_, source, number);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);  // Node ignores SIGPIPE
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

Result<pid_t> SpawnPlainly(const std::string& path, const std::vector<char*>& argv,
                           const std::vector<Inherited>& inherited) {
  FileActions actions;
  for (const Inherited& each : inherited) {
    const int failed = actions.Duplicate(each.source, each.number);
    if (failed != 0) return SystemError("posix_spawn_file_actions_adddup2", failed);
  }
  char* const no_environment[] = {nullptr};
  const Attributes attributes;
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, path.c_str(), actions.get(), attributes.get(), argv.data(), no_environment);
  if (failed != 0) return SystemError((std::string("posix_spawn ") + argv[0]).c_str(), failed);
  return pid;
}

// The arguments of BeBorn, and how it failed.
struct Birth {
  const char* path = nullptr;
  char* const* argv = nullptr;
  const std::vector<Inherited>* inherited = nullptr;
  const std::vector<const char*>* nodes = nullptr;
  const char* failed_call = nullptr;
  int error = 0;
};

int FailBirth(Birth* birth, const char* call) {
  birth->failed_call = call;
  birth->error = errno;
  return 127;  // as a shell whose program can't be executed
}

// All of the kernel's signals, as Attributes does for posix_spawn; those that can't be changed are
// refused. The C library's structure is another than the kernel's.
void ResetDispositions() {
  constexpr int kSignals = 64;
  constexpr std::size_t kSetBytes = 8;
  constexpr std::array<std::uint64_t, 4> kDefault{};  // handler, flags, restorer, mask
  for (int signal = 1; signal <= kSignals; ++signal)
    syscall(SYS_rt_sigaction, signal, kDefault.data(), nullptr, kSetBytes);
}

// Mounts the file on itself, read-only and otherwise with the flags of its mount. statfs(2) uses
// the flag names of statvfs(3), whose values are those of mount(2).
bool MountFileReadOnly(const char* file) {
  constexpr unsigned long kKept = ST_NOSUID | ST_NODEV | ST_NOEXEC;
  struct statfs status {};
  if (syscall(SYS_statfs, file, &status) != 0) return errno == ENOENT;
  if (mount(file, file, nullptr, MS_BIND, nullptr) != 0) return false;
  const unsigned long flags = static_cast<unsigned long>(status.f_flags) & kKept;
  return mount(nullptr, file, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, nullptr) == 0;
}

// Returns the call that failed, with errno; nullptr if none did.
const char* GuardDevices(const std::vector<const char*>& nodes) {
  if (unshare(CLONE_NEWNS) != 0) return errno == EPERM ? nullptr : "unshare(CLONE_NEWNS)";
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return "mount(MS_SLAVE)";
  for (const char* const node : kDeviceNodes) {
    if (!MountFileReadOnly(node)) return node;
  }
  for (const char* const node : nodes) {
    if (!MountFileReadOnly(node)) return node;
  }
  return nullptr;
}

// Uses syscall(2) where a sanitizer would intercept the C library's function.
int BeBorn(void* argument) {
  auto* birth = static_cast<Birth*>(argument);
  ResetDispositions();
  if (syscall(SYS_setsid) < 0) return FailBirth(birth, "setsid");
  if (const char* const call = GuardDevices(*birth->nodes)) return FailBirth(birth, call);
  for (const Inherited& each : *birth->inherited) {
    if (syscall(SYS_dup3, each.source, each.number, 0) < 0) return FailBirth(birth, "dup3");
  }
  constexpr std::uint64_t kNoSignals = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kNoSignals, nullptr, sizeof kNoSignals);
  char* const no_environment[] = {nullptr};
  syscall(SYS_execve, birth->path, birth->argv, no_environment);
  return FailBirth(birth, birth->argv[0]);
}

// As SpawnPlainly, but the new process first makes a mount namespace with read-only mounts of
// kDeviceNodes (protocol/order.h) and of `guarded_nodes`, in which it executes the program. Does
// without where the kernel permits no mount namespace. kSetup names the call that failed.
// `inherited`: no source is a number of the child.
Result<pid_t> SpawnGuarded(const std::string& path, const std::vector<char*>& argv,
                           const std::vector<Inherited>& inherited,
                           const std::vector<std::string>& guarded_nodes) {
  std::vector<const char*> nodes;
  nodes.reserve(guarded_nodes.size());
  for (const std::string& node : guarded_nodes)
    nodes.push_back(node.c_str());
  Birth birth{.path = path.c_str(), .argv = argv.data(), .inherited = &inherited, .nodes = &nodes};
  const long child = RunInVfork(BeBorn, &birth, SIGCHLD);
  if (child < 0) return SystemError("clone", static_cast<int>(-child));
  if (birth.failed_call == nullptr) return static_cast<pid_t>(child);
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return SystemError((std::string("start of ") + argv[0] + ": " + birth.failed_call).c_str(),
                     birth.error);
}

std::uint64_t Microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Result<Child> Child::Spawn(SpawnOptions order) {
  const int first_free = FirstFree(order.inherited);
  if (auto error = KeepProgram(first_free, &order)) return *error;
  for (Inherited& inherited : order.inherited) {
    if (inherited.source < first_free) {
      const int raised = fcntl(inherited.source, F_DUPFD_CLOEXEC, first_free);
      if (raised < 0) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
      order.owned.emplace_back(raised);
      inherited.source = raised;
    }
  }
  std::vector<char*> argv;
  argv.reserve(order.argv.size() + 1);
  for (std::string& argument : order.argv)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  TRY_ASSIGN(const pid_t pid,
             order.guards_devices
                 ? SpawnGuarded(order.path, argv, order.inherited, order.guarded_nodes)
                 : SpawnPlainly(order.path, argv, order.inherited));
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const Error error = SystemError("pidfd_open", errno);
    kill(pid, SIGKILL);  // not reaped yet, so the pid is still its own
    waitpid(pid, nullptr, 0);
    return error;
  }
  return Child(pid, Descriptor(pidfd));
}

void Child::Signal(int signal) const {
  SignalPidfd(pidfd_.get(), signal);
}

std::optional<ExitStatus> Child::Reap() {
  if (status_) return status_;
  siginfo_t info{};
  rusage usage{};
  const long result =
      syscall(SYS_waitid, kWaitByPidfd, pidfd_.get(), &info, WEXITED | WNOHANG, &usage);
  if (result == 0 && info.si_pid == 0) return std::nullopt;
  ExitStatus status;
  if (result == 0) {
    status.signaled = info.si_code != CLD_EXITED;
    status.value = info.si_status;
    status.user_cpu_us = Microseconds(usage.ru_utime);
    status.system_cpu_us = Microseconds(usage.ru_stime);
  } else if (errno != ECHILD) {  // ECHILD: the host ignores SIGCHLD, so the kernel reaped it
    return std::nullopt;
  }
  status_ = status;
  return status_;
}

bool ProcessHasEnded(int pidfd) {
  pollfd entry{pidfd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

void SignalPidfd(int pidfd, int signal) {
  static_cast<void>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

std::string ReadProcFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(8192, '\0');
  std::size_t size = 0;
  while (file.valid() && size < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::vector<std::uint64_t> LeadingNumbers(std::string_view text, int base) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; (at = text.find_first_not_of("\t ", at)) != std::string_view::npos;) {
    std::uint64_t number = 0;
    const bool is_negative = text[at] == '-';
    const char* const from = text.data() + at + (is_negative ? 1 : 0);
    const auto parsed = std::from_chars(from, text.data() + text.size(), number, base);
    if (parsed.ec != std::errc()) break;
    numbers.push_back(is_negative ? 0 : number);
    at = static_cast<std::size_t>(parsed.ptr - text.data());
  }
  return numbers;
}

std::vector<std::uint64_t> NumbersInLine(const std::string& path, std::string_view name, int base) {
  const std::string bytes = ReadProcFile(path);
  std::string_view text = bytes;
  while (!text.empty() && !text.starts_with(name))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(std::min(name.size(), text.size()));
  return LeadingNumbers(text.substr(0, text.find('\n')), base);
}

pid_t NumberOfPidfd(int pidfd) {
  const auto numbers = NumbersInLine("/proc/self/fdinfo/" + std::to_string(pidfd), "Pid:");
  return numbers.empty() ? 0 : static_cast<pid_t>(numbers[0]);
}

namespace {

constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING, include/linux/sched.h
constexpr std::uint64_t kKilled = std::uint64_t{1} << (SIGKILL - 1U);

// Fields of proc_pid_stat(5), counted from the one after the state.
enum Field : std::size_t { kParent = 0, kFlags = 5, kUser = 10, kSystem = 11, kThreads = 16 };

std::string DirectoryOf(pid_t process) {
  return "/proc/" + std::to_string(process);
}

bool IsKilled(pid_t process) {
  const std::string path = DirectoryOf(process) + "/status";
  for (const char* const line : {"SigPnd:", "ShdPnd:"}) {
    const auto pending = NumbersInLine(path, line, 16);
    if (!pending.empty() && (pending[0] & kKilled) != 0) return true;
  }
  return false;
}

// Returns the numeric entries of a directory in /proc.
std::vector<pid_t> NumbersIn(const std::string& path) {
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(opendir(path.c_str()));
  std::vector<pid_t> numbers;
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    pid_t number = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, number).ptr == end) numbers.push_back(number);
  }
  return numbers;
}

bool KernelListsChildren() {
  return access("/proc/thread-self/children", R_OK) == 0;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = DirectoryOf(parent) + "/task";
  for (const pid_t task : NumbersIn(tasks)) {
    const std::string listed = ReadProcFile(tasks + "/" + std::to_string(task) + "/children");
    for (const std::uint64_t child : LeadingNumbers(listed))
      children.push_back(static_cast<pid_t>(child));
  }
  return children;
}

std::multimap<pid_t, pid_t> AllByParent() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : NumbersIn("/proc")) {
    if (const auto facts = LookAtProcess(process)) children.emplace(facts->parent, process);
  }
  return children;
}

}  // namespace

std::optional<ProcessFacts> LookAtProcess(pid_t process) {
  const std::string stat = ReadProcFile(DirectoryOf(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');  // "pid (name) state parent ..."
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return std::nullopt;
  const auto fields = LeadingNumbers(std::string_view(stat).substr(name_end + 4));
  if (fields.size() <= kThreads) return std::nullopt;
  ProcessFacts facts;
  facts.parent = static_cast<pid_t>(fields[kParent]);
  facts.state = stat[name_end + 2];
  facts.cpu_ticks = fields[kUser] + fields[kSystem];
  // A process that only waits to be reaped is not dying, unless its other threads are.
  const bool is_dead = (facts.state == 'Z' || facts.state == 'X') && fields[kThreads] <= 1;
  facts.is_dying = !is_dead && ((fields[kFlags] & kExiting) != 0 || IsKilled(process));
  return facts;
}

std::vector<pid_t> DescendantsOf(pid_t root, std::size_t most) {
  const bool asks_each = KernelListsChildren();
  const auto all = asks_each ? std::multimap<pid_t, pid_t>() : AllByParent();
  std::vector<pid_t> found = {root};
  for (std::size_t at = 0; at < found.size() && found.size() <= most; ++at) {
    if (asks_each) {
      const auto children = ChildrenOf(found[at]);
      found.insert(found.end(), children.begin(), children.end());
    } else {
      const auto [first, last] = all.equal_range(found[at]);
      for (auto each = first; each != last; ++each)
        found.push_back(each->second);
    }
  }
  found.erase(found.begin());
  return found;
}

bool IsEnding(pid_t process) {
  const auto facts = LookAtProcess(process);
  return !facts || facts->is_dying || facts->state == 'Z' || facts->state == 'X';
}

namespace {

struct Table {
  const char* name;
  const char* counts;
  const char* protocol;
  bool is_required;  // false: a kernel may lack IPv6
};

constexpr Table kTables[] = {
    {"tcp", "sockstat", "TCP", true},
    {"tcp6", "sockstat6", "TCP6", false},
};

}  // namespace

Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port) {
  const pid_t number = NumberOfPidfd(pidfd);
  if (ProcessHasEnded(pidfd)) return false;
  if (number == 0) return SystemError("read /proc/self/fdinfo", ESRCH);
  const std::string net = "/proc/" + std::to_string(number) + "/net/";
  for (const Table& table : kTables) {
    // For the table, the kernel walks all buckets of its hash, which takes milliseconds; it does
    // not for these counts.
    auto counts = ReadText(net + table.counts);  // listeners come before connections
    if (counts && SocketsInUse(*counts, table.protocol) == 0) continue;
    auto text = ReadText(net + table.name);
    if (!text && !table.is_required) continue;
    if (!text && IsEnding(number)) return false;
    if (!text) return text.error();
    // A process that is still alive kept its number while the table was read.
    if (HasListener(*text, port)) return !ProcessHasEnded(pidfd);
  }
  return false;
}

}  // namespace native_runner
