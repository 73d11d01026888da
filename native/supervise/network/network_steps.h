#pragma once

#include <string>
#include <vector>

#include "policy/network/rules/network_rules.h"

namespace native_runner {

// The steps (protocol/step.h) by which a launcher makes the network namespace of a sandbox with
// these rules, has the addresses that names get inside lead to its loopback, and hands over its
// listeners (ListenersOf). `with_user`: it may make no such namespace without one of the user's
// own, and is in none yet.
std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user);

}  // namespace native_runner
