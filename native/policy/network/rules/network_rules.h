#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/network/rules/host_rule.h"
#include "policy/network/rules/private_rule.h"
#include "policy/result.h"

namespace native_runner {

// The ports of an `allow` entry that names none.
inline constexpr std::array<std::uint16_t, 2> kDefaultPorts = {80, 443};
// How many entries a list has at most, and how many ports all of them together: each port is a
// listener of every run.
inline constexpr std::size_t kMostRules = 1024;
inline constexpr std::size_t kMostPorts = 64;

// What `network: { allow, deny, allowPrivate, onRequest }` says, as it was written.
struct NetworkRuleTexts {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> allow_private;
  bool asks = false;  // there is an `onRequest`
};

// The same, read. An `allow` entry without a port is about kDefaultPorts; a `deny` entry without
// one is about every port, since it is the host that is not wanted.
struct NetworkRules {
  std::vector<HostRule> allow;
  std::vector<HostRule> deny;
  std::vector<PrivateRule> allow_private;
  bool asks = false;
};

// The first entry that is none is the error, by its field: "network.deny[3]". Pure.
Result<NetworkRules> ReadNetworkRules(const NetworkRuleTexts& texts);

// The ports that connections may be for, ascending, each once: those of `allow`, and kDefaultPorts
// where somebody is asked.
std::vector<std::uint16_t> PortsOf(const NetworkRules& rules);

// One text for all that decides alike, to be hashed: an entry a line, in one spelling and order.
std::string NetworkRulesText(const NetworkRules& rules);

}  // namespace native_runner
