#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/ip_address.h"
#include "policy/result.h"

namespace native_runner {

// A name, or with "*." before it all names below it, by one whole label or more, but not itself.
struct NamePattern {
  HostName name;
  bool is_wildcard = false;

  bool Matches(const HostName& host) const;
  std::string text() const;
};

// One entry of `network.allow` or `network.deny`: "host", "host:port", "*.domain", "*.domain:port".
// What no port means is for the list to say (see NetworkRules).
struct HostRule {
  NamePattern pattern;
  std::optional<std::uint16_t> port;

  // In the one spelling that is recorded and hashed.
  std::string text() const;
};

// `field` names the entry in an error ("network.allow[2]"). An address in any spelling is none:
// what is there by address is for `network.allowPrivate` to say. Pure.
Result<HostRule> ReadHostRule(std::string_view text, std::string_view field);

// The pattern alone, without a port.
Result<NamePattern> ReadNamePattern(std::string_view text, std::string_view field);

// "Expected `FIELD` to be WANTED, got GOT", got being quoted.
Error UnexpectedRule(std::string_view field, std::string_view wanted, std::string_view got);

// One entry of `network.allowPrivate`: a host (or "*." and a domain) whose names may lead to
// addresses that are not public, or a block of such addresses, to which any allowed name may lead.
// It opens nothing by itself: the name has to be allowed as well.
struct PrivateRule {
  std::variant<NamePattern, Cidr> what;

  // Whether it lets `host` lead to `address`, which is not public.
  bool Permits(const HostName& host, const IpAddress& address) const;
  // In the one spelling that is recorded and hashed.
  std::string text() const;
};

// Addresses are read in their plain spelling only, so that nobody has to guess which one is meant;
// a port is refused, since the rule that allows the name has it. Pure.
Result<PrivateRule> ReadPrivateRule(std::string_view text, std::string_view field);

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

// What commands may reach of the network, and who is asked about the rest. Immutable, shared
// between threads.
struct NetworkPolicy {
  NetworkRules rules;
  std::uint64_t asker = 0;  // a number that the addon gave; 0: nobody. Not hashed, rules.asks is
};

// Whether a host's hosts(5) may stay what programs in a sandbox with these rules read: it has
// "localhost", whatever else it names is the machine's own loopback (as most have it), and no
// `allow` entry is about such a name. Otherwise a program would connect to what it says, instead of
// asking the sandbox's resolver. Pure.
bool NamesOnlyLoopback(std::string_view hosts_file, const NetworkRules& rules);

}  // namespace native_runner
