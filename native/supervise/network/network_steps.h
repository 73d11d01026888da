#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/network_rules.h"
#include "policy/result.h"
#include "protocol/order.h"

namespace native_runner {

// A socket bound in a sandbox's network namespace, which the socket keeps alive.
struct SandboxListener {
  enum class Kind {
    kTcp,     // listens on `port`, at every local address of the sandbox
    kUdpDns,  // bound to 127.0.0.1:53
  };
  Kind kind = Kind::kTcp;
  std::uint16_t port = 0;
};

// Returns the listeners of a sandbox with these rules, in the order in which its launcher hands
// them over.
std::vector<SandboxListener> ListenersOf(const NetworkRules& rules);

// Returns the steps (protocol/order.h) with which a launcher makes the network namespace of a
// sandbox with these rules, routes the synthetic addresses of names to its loopback, and hands over
// its listeners (ListenersOf). `with_user`: the launcher needs a user namespace of its own for
// this, and is not in one yet.
std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user);

// Makes the launcher refuse to run a command in our network namespace. kSetup if our namespace
// can't be identified.
std::optional<Error> OrderOwnNetwork(OrderHeader* order);

}  // namespace native_runner
