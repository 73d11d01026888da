#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "policy/network/address/cidr.h"
#include "policy/network/rules/host_rule.h"
#include "policy/result.h"

namespace native_runner {

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

}  // namespace native_runner
