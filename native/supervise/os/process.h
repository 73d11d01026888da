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

// A descriptor of ours, and its number in the child.
struct Inherited {
  int source = -1;
  int number = -1;
};

struct SpawnOptions {
  std::string path;               // absolute, or /proc/self/fd/N of a descriptor of ours
  std::vector<std::string> argv;  // argv[0] is only the name in process lists
  std::vector<Inherited> inherited;
  std::vector<Descriptor> owned;  // those of `inherited` to close once the child has them
  bool makes_mounts = false;      // the program makes a mount namespace
  // The child makes a mount namespace of its own first, where the kernel permits it, in which the
  // host's device nodes are read-only (kDeviceNodes in protocol/order.h). For root.
  bool guards_devices = false;
  std::vector<std::string> guarded_nodes;  // with it: further ones

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

// A direct child process, identified by its pidfd (pidfd_open(2), Linux 5.4), so that it can be
// signalled and reaped without a race on its pid. Spawned by posix_spawn(3), or by a clone(2) that
// shares our memory as that does, so that the cost does not grow with the host's memory, with an
// empty environment, its own session, no blocked signals and default dispositions. Use from one
// long-lived thread only: PR_SET_PDEATHSIG is per thread.
class Child {
 public:
  // Closes `order.owned` on this side in any case.
  static Result<Child> Spawn(SpawnOptions order);

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  void Signal(int signal) const;

  // Returns the status once the child has exited, nullopt while it runs. Reaps it; later calls
  // return the same status.
  std::optional<ExitStatus> Reap();

 private:
  Child(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  Descriptor pidfd_;
  std::optional<ExitStatus> status_;
};

// Calls pidfd_send_signal(2); ignores a process that is gone.
void SignalPidfd(int pidfd, int signal);

// Returns true if the process has ended, without waiting. A pid namespace's first process ends only
// after all the others (pidfd_open(2), pid_namespaces(7)).
bool ProcessHasEnded(int pidfd);

// Small files in /proc. Their process numbers are those of that /proc, which may be that of an
// outer pid namespace.

// Returns up to 8 KiB of a file; empty if it does not exist.
std::string ReadProcFile(const std::string& path);

// Returns the numbers at the start of a text, separated by blanks; 0 for a negative one.
std::vector<std::uint64_t> LeadingNumbers(std::string_view text, int base = 10);

// Returns the numbers in the line of a file that begins with `name`; empty without such a line.
std::vector<std::uint64_t> NumbersInLine(const std::string& path, std::string_view name,
                                         int base = 10);

// Returns the number of a pidfd's process in /proc; 0 if it is gone or can't be seen.
pid_t NumberOfPidfd(int pidfd);

// Facts about one process from /proc (proc_pid_stat(5)).
struct ProcessFacts {
  pid_t parent = 0;
  char state = '?';
  std::uint64_t cpu_ticks = 0;  // user and kernel mode, without children
  // It has begun to end, or was killed and has not run since: it executes no more of its own code.
  // The kernel's remaining work takes as long as it has memory to free.
  bool is_dying = false;
};

// Returns nullopt if the process is gone or can't be seen.
std::optional<ProcessFacts> LookAtProcess(pid_t process);

// Returns true if the process has begun to end, is dead, or is gone. The kernel takes its files,
// mounts and network early in its exit, long before its pidfd shows the end.
bool IsEnding(pid_t process);

// Returns the living and dead descendants of `root`, by their numbers in /proc, up to `most`. Reads
// some files for each descendant or, if the kernel does not list children, for every process: for
// the rare case.
std::vector<pid_t> DescendantsOf(pid_t root, std::size_t most);

// Returns true if a process listens on a TCP port, IPv4 or IPv6, in the network namespace of the
// pidfd's process. Reads the kernel's table and connects to nothing. An error if that table can't
// be read; false if it can't because the process has begun to end.
Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port);

}  // namespace native_runner
