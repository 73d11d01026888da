#pragma once

#include <cstdint>
#include <optional>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Counts the changes of the mounts that this process sees: proc_pid_mountinfo(5) tells of each by
// poll(2), to each who has it open. One thread only.
class MountTable {
 public:
  // How often they have changed since the first call, several changes between two calls being one:
  // equal answers mean that nothing was mounted or unmounted in between. nullopt: /proc does not
  // tell.
  std::optional<std::uint64_t> Changes();

 private:
  Descriptor table_;
  std::uint64_t changes_ = 0;
};

}  // namespace native_runner
