#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A descriptor of ours and the number under which the child is to see it.
struct Inherited {
  int source = -1;
  int number = -1;
};

struct SpawnOptions {
  std::string path;               // absolute, or /proc/self/fd/N of a descriptor of ours
  std::vector<std::string> argv;  // argv[0] is only what the process list shows
  std::vector<Inherited> inherited;
  std::vector<Descriptor> owned;  // those of `inherited` that nobody needs once the child has them
  bool makes_mounts = false;      // what it sets up has a mount namespace of its own

  void Give(Descriptor source, int number) {
    inherited.push_back({source.get(), number});
    owned.push_back(std::move(source));
  }
};

struct ExitStatus {
  bool signaled = false;
  int value = 0;  // exit code, or signal number
  std::uint64_t user_cpu_us = 0;
  std::uint64_t system_cpu_us = 0;
};

// A direct child process, named by its pidfd (pidfd_open(2), Linux 5.4), so that it can be
// signalled and reaped without a race on its number. Spawned by posix_spawn(3), whose cost does not
// grow with the host's memory, with an empty environment, its own session, no blocked signals and
// default dispositions. Use from one long-lived thread only: PR_SET_PDEATHSIG is per thread.
class Child {
 public:
  // What the order owns is closed on this side whatever happens.
  static Result<Child> Spawn(SpawnOptions order);

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  void Signal(int signal) const;

  // The status once it has exited, nullopt while it runs. Reaps: later calls answer the same.
  std::optional<ExitStatus> Reap();

 private:
  Child(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  Descriptor pidfd_;
  std::optional<ExitStatus> status_;
};

// pidfd_send_signal(2); a process that is gone is no error.
void SignalPidfd(int pidfd, int signal);

// Without waiting. Of a pid namespace's first process only after all the others have ended
// (pidfd_open(2), pid_namespaces(7)).
bool ProcessHasEnded(int pidfd);

// Small files in /proc. Numbers of processes in them are those of that /proc, which may be that of
// an outer pid namespace.

// Up to 8 KiB of one; empty where there is none.
std::string ReadProcFile(const std::string& path);

// The numbers that a text begins with, between blanks; 0 for a negative one.
std::vector<std::uint64_t> LeadingNumbers(std::string_view text, int base = 10);

// Those in the line of a file that begins with `name`; empty where there is none.
std::vector<std::uint64_t> NumbersInLine(const std::string& path, std::string_view name,
                                         int base = 10);

// What /proc counts a pidfd's process as; 0 where that is gone or can't be seen.
pid_t NumberOfPidfd(int pidfd);

// What /proc tells of one process (proc_pid_stat(5)).
struct ProcessFacts {
  pid_t parent = 0;
  char state = '?';
  std::uint64_t cpu_ticks = 0;  // of its own, in user mode and in the kernel
  // It has begun to end, or was killed and has not run since: it runs nothing of its own any more.
  // What is left is the kernel's work, which takes as long as it has memory to give back.
  bool is_dying = false;
};

// Nothing for one that is gone or can't be seen.
std::optional<ProcessFacts> LookAtProcess(pid_t process);

// The living and the dead below `root`, as /proc counts them, up to `most`. Reads some files for
// each, or (where the kernel does not tell of children) for each process that there is: meant for
// the rare case.
std::vector<pid_t> DescendantsOf(pid_t root, std::size_t most);

// Whether something listens on a TCP port, IPv4 or IPv6, in the network namespace of a process. The
// kernel's table tells it, so nobody connects. An error where that table can't be read; false where
// that is because the process has begun to end.
Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port);

}  // namespace native_runner
