#pragma once

#include <string_view>

#include "policy/network/rules/network_rules.h"

namespace native_runner {

// Whether a host's hosts(5) may stay what programs in a sandbox with these rules read: it has
// "localhost", whatever else it names is the machine's own loopback (as most have it), and no
// `allow` entry is about such a name. Otherwise a program would connect to what it says, instead of
// asking the sandbox's resolver. Pure.
bool NamesOnlyLoopback(std::string_view hosts_file, const NetworkRules& rules);

}  // namespace native_runner
