#pragma once

#include <string>

#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"

namespace native_runner {

// A canonical text of a policy, one "key value" a line in a fixed order with a version line first;
// equal policies give equal texts on every host and in every release that keeps the version.
// The audit's policyHash is its SHA-256. Limits belong to a run, not to the policy; the workspace's
// path is left out (the audit's argv has it), so runs of one policy in many workspaces compare
// equal.
std::string PolicyText(const BubblewrapPolicy& policy);
std::string PolicyText(const ProjectPolicy& policy);  // nor its folders
std::string PolicyText(const LandlockPolicy& policy);
std::string PolicyText(const FirejailPolicy& policy);
std::string PolicyText(const LocalPolicy& policy);

}  // namespace native_runner
