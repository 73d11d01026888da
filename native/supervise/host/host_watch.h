#pragma once

#include <optional>
#include <string>

#include "supervise/host/mount_table.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Notices that this process, or the mounts it sees, are not what they were: what is spawned now
// would not get the credentials, the limits or the mounts that a standing sandbox has, or a
// template's clones. Supervisor thread only: the state is that of the thread that spawns.
class HostWatch {
 public:
  // Equal texts: nothing has changed in between. Holds the ids, groups, capabilities, umask,
  // allowed processors, seccomp mode and no_new_privs of /proc/thread-self/status, what else a
  // child inherits (resource limits, nice value, oom_score_adj, cgroups), the host's name, and how
  // often the mount table has changed. nullopt: /proc does not tell.
  std::optional<std::string> State();

 private:
  bool AddInherited(std::string* state);

  Descriptor status_;
  Descriptor oom_score_;
  Descriptor cgroups_;
  MountTable mounts_;
};

}  // namespace native_runner
