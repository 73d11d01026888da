#pragma once

#include <string>

#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"

namespace native_runner {

// Returns a canonical text of a policy: a version line, then one "key value" a line in a fixed
// order. Equal policies give equal texts on every host and in every release that keeps the version.
// The audit's policyHash is the SHA-256 of this text. Limits belong to a run, so they are left out.
// The workspace's path is left out too (the audit's argv has it), so runs of one policy in many
// workspaces compare equal.
std::string PolicyText(const BubblewrapPolicy& policy);
// Returns further lines for what a view of `policy.shown` shows of the host: with tools the text
// and its hash depend on where the host has them.
std::string HomeViewText(const HomeView& view);

std::string PolicyText(const ProjectPolicy& policy);  // leaves its folders out too
std::string PolicyText(const LandlockPolicy& policy);
std::string PolicyText(const FirejailPolicy& policy);
std::string PolicyText(const LocalPolicy& policy);

}  // namespace native_runner
