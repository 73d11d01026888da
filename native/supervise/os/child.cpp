#include "supervise/os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "protocol/decimal.h"

namespace native_runner {
namespace {

// Children expect descriptors at numbers below this; ours are kept above, so that placing one can't
// overwrite another that has still to be placed.
int FirstFree(const std::vector<Inherited>& inherited) {
  int first = 3;
  for (const Inherited& each : inherited)
    first = std::max(first, each.number + 1);
  return first;
}

constexpr int kWaitByPidfd = 3;  // P_PIDFD, Linux 5.4; older C libraries lack the name

// A program that is named by a descriptor of ours, whose number another may get, has one above.
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

std::uint64_t Microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Result<Child> Child::Spawn(SpawnOptions order) {
  FileActions actions;
  const int first_free = FirstFree(order.inherited);
  if (auto error = KeepProgram(first_free, &order)) return *error;
  for (Inherited& inherited : order.inherited) {
    if (inherited.source < first_free) {
      const int raised = fcntl(inherited.source, F_DUPFD_CLOEXEC, first_free);
      if (raised < 0) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
      order.owned.emplace_back(raised);
      inherited.source = raised;
    }
    const int failed = actions.Duplicate(inherited.source, inherited.number);
    if (failed != 0) return SystemError("posix_spawn_file_actions_adddup2", failed);
  }
  std::vector<char*> argv;
  argv.reserve(order.argv.size() + 1);
  for (std::string& argument : order.argv)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};

  const Attributes attributes;
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, order.path.c_str(), actions.get(), attributes.get(),
                                 argv.data(), no_environment);
  if (failed != 0) return SystemError(("posix_spawn " + order.argv[0]).c_str(), failed);
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const Error error = SystemError("pidfd_open", errno);
    kill(pid, SIGKILL);  // ours and not reaped: the number can't be anyone else's
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

}  // namespace native_runner
