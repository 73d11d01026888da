#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/network/name/host_name.h"
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

}  // namespace native_runner
