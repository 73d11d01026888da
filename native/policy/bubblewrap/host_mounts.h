#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/options/policy.h"

namespace native_runner {

// The mounts that a policy names, as bwrap's; each list in the policy's order. Those in the
// workspace come after it, since it would hide them.
struct HostMounts {
  std::vector<Mount> outside;
  std::vector<Mount> in_workspace;
};

// `first_descriptor`: of the policy's first mount, the others follow; -1: all by path.
HostMounts PlanHostMounts(const BubblewrapPolicy& policy, const HostFacts& facts,
                          int first_descriptor);

// The place of one of the policy's mounts, where that is in something of the host's which an
// earlier step of the plan has mounted. bwrap would make it there, so it must be there before.
struct MountPoint {
  enum class Base { kReadOnlyBind, kMount, kWorkspaceBind };
  std::size_t mount = 0;  // which of the policy's
  Base base = Base::kReadOnlyBind;
  std::size_t base_mount = 0;  // kMount: which of the policy's
  std::string base_path;       // on the host
  std::string below;           // relative to it; empty: it is the base itself
  bool may_make = false;       // what is not there may be made for as long as the sandbox lasts
};
std::vector<MountPoint> FindMountPoints(const BubblewrapPlan& plan);

}  // namespace native_runner
