#pragma once

#include <string>
#include <vector>

#include "policy/firejail/firejail_plan.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/host/host.h"

namespace native_runner {

// Looks at the host for what a plan of Firejail's depends on; some dozen cheap system calls, made
// anew for each run. kSetup when a directory that the policy names does not exist, or when the user
// has no account, without which Firejail does nothing (getpwuid(3)).
Result<FirejailFacts> LookForFirejail(const FirejailPolicy& policy, const std::string& workspace,
                                      Secrets secrets);

// The rules by which the launcher checks that a plan is in force: what the host has at these paths
// now (order.h). A path that the host lacks needs none.
std::vector<std::string> HiddenRules(const std::vector<std::string>& paths);
std::vector<std::string> ReadOnlyRules(const std::vector<std::string>& paths);
std::string ShownRule(const std::string& path);

}  // namespace native_runner
