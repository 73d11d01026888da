#pragma once

#include <optional>
#include <string>

#include "supervise/host/mount_table.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Notices that this process, or the mounts it sees, are not what they were: what is spawned now
// would not get the credentials or the mounts that a standing sandbox has. Two system calls an
// answer. Supervisor thread only: the status is that of the thread that spawns.
class HostWatch {
 public:
  // Equal texts: nothing has changed in between. Holds the ids, groups, capabilities, umask,
  // allowed processors, seccomp mode and no_new_privs of /proc/thread-self/status, and how often
  // the mount table has changed. nullopt: /proc does not tell.
  std::optional<std::string> State();

 private:
  Descriptor status_;
  MountTable mounts_;
};

}  // namespace native_runner
