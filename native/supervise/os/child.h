#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
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

}  // namespace native_runner
