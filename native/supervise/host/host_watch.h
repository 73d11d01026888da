#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Notices that this process, or the mounts it sees, are not what they were: what is spawned now
// would not get the credentials or the mounts that a standing sandbox has. Two system calls an
// answer. Supervisor thread only: the status is that of the thread that spawns.
class HostWatch {
 public:
  // Equal texts: nothing has changed in between. Holds the ids, groups, capabilities, umask,
  // allowed processors, seccomp mode and no_new_privs of /proc/thread-self/status, and how often
  // the mount table has changed (proc_pid_mountinfo(5): a change is told by poll(2)). nullopt:
  // /proc does not tell.
  std::optional<std::string> State();

 private:
  Descriptor status_;
  Descriptor mounts_;
  std::uint64_t mount_changes_ = 0;
};

}  // namespace native_runner
