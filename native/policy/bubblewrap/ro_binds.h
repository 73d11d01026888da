#pragma once

#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/options/policy.h"

namespace native_runner {

// The read-only binds of a policy and what must be hidden in them, as bwrap's mounts.

// The policy's list; the five defaults when none was given.
const std::vector<std::string>& RoBindsOf(const BubblewrapPolicy& policy);

// Binds in the given order. A default that the host lacks is left out; a link whose target another
// bind brings along becomes a link again, any other link is bound as what it leads to.
std::vector<Mount> PlanRoBinds(const BubblewrapPolicy& policy, const HostFacts& facts);

// Masks for the host's secrets that `binds` (as planned above, or as PlanHostMounts does) would
// show, wherever they appear.
std::vector<Mount> PlanMasks(const std::vector<Mount>& binds, const HostFacts& facts);

}  // namespace native_runner
