#pragma once

#include <cstdint>

#include "policy/network/rules/network_rules.h"

namespace native_runner {

// What commands may reach of the network, and who is asked about the rest. Immutable, shared
// between threads.
struct NetworkPolicy {
  NetworkRules rules;
  std::uint64_t asker = 0;  // a number that the addon gave; 0: nobody. Not hashed, rules.asks is
};

}  // namespace native_runner
