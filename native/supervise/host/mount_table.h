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

  // Whether some mount gets what others mount, or gives them what is mounted on it, so that a copy
  // of this namespace may get it too (MS_SHARED in mount(2)); also where that can't be told. The
  // kernel tells nobody of a mount that is made shared later: whoever finds such a copy says so.
  bool AreShared();
  // Takes them for shared until they change.
  void TakeForShared() { shared_ = true; }

 private:
  bool LookForShared();

  Descriptor table_;
  std::uint64_t changes_ = 0;
  std::optional<std::uint64_t> looked_at_;  // Changes() when `shared_` was found
  bool shared_ = true;
};

}  // namespace native_runner
