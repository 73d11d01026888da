#pragma once

#include <string>
#include <vector>

#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/host/host.h"

namespace native_runner {

// The rules of a Landlock policy for this host, in the order's form (protocol/order.h): directories
// that exist, the workspace, and the devices that every program needs. A read directory that holds
// secrets of root's is replaced by what is in it but for those, since Landlock can only allow.
// kSetup when a directory that the caller named does not exist.
Result<std::vector<std::string>> LandlockRules(const LandlockPolicy& policy, const Secrets& secrets,
                                               const std::string& workspace);

// The rules of the wall inside a Bubblewrap sandbox: read all, write what bwrap left writable.
std::vector<std::string> LandlockRulesInside(const BubblewrapPolicy& policy);

}  // namespace native_runner
