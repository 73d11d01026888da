#pragma once

#include <cstdint>
#include <optional>

#include "policy/result.h"
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

// Cuts the mounts of another process' mount namespace off from those that they were copied from:
// what the host mounts from now on, or unmounts, is no matter of theirs (MS_PRIVATE in mount(2)).
//
// Works without privileges where the namespace belongs to a user namespace that this user made, as
// bwrap's do. Nothing is done where root made it, with a set-user-id bwrap, and we are not root.
// `pidfd`: of a process in it that stands still. kSetup names the call that failed. Takes some
// 0.2 ms, for which the calling thread waits.
std::optional<Error> MakeMountsPrivate(int pidfd);

}  // namespace native_runner
