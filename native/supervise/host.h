#pragma once

#include <string>
#include <vector>

#include "policy/bubblewrap_argv.h"
#include "policy/bwrap_features.h"
#include "policy/policy.h"
#include "policy/result.h"

namespace native_runner {

// What only root may read on common distributions, as real paths; empty unless we are uid 0.
struct Secrets {
  std::vector<std::string> files;
  std::vector<std::string> directories;
};
Secrets FindSecrets();

// Looks at the host for what a plan depends on: which roBinds exist, which are links into another
// one (merged /usr), and, for uid 0, which files only root may read. A dozen cheap system calls,
// made anew for each run, so that a change on the host is never missed. kSetup when a roBind that
// the caller named does not exist.
Result<HostFacts> LookAtHost(const BubblewrapPolicy& policy, const BwrapFeatures& features);

}  // namespace native_runner
