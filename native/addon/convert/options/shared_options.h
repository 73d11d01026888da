#pragma once

#include <optional>
#include <utility>

#include "addon/convert/fields.h"
#include "policy/options/policy.h"

namespace native_runner {

// Options that several runners have. `fallback` and strict isolation are for what was not given.
// ReadNetwork is for those that can't have a network by domain; see network_options.h.
Network ReadNetwork(Fields& options, Network fallback);
Isolation ReadIsolation(Fields& options);
EnvironmentPolicy ReadEnvironmentPolicy(Fields& options);

// The read-only paths; the defaults when none were given.
void ReadRoBinds(Fields& options, BubblewrapPolicy& policy);

// A field that is a list of strings, empty when it was not given.
std::vector<std::string> ReadStrings(Fields& options, const char* key);

// The policy, whose values are looked at only once all the types were right.
template <typename Policy>
Policy Checked(Fields& options, Policy policy) {
  if (!options.reader().failed()) options.reader().FailIf(CheckPolicy(policy));
  return policy;
}

}  // namespace native_runner
