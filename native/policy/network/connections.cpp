#include "policy/network/connections.h"

#include <algorithm>
#include <utility>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

bool AllowsPort(const HostRule& rule, std::uint16_t port) {
  if (rule.port) return *rule.port == port;
  return std::find(kDefaultPorts.begin(), kDefaultPorts.end(), port) != kDefaultPorts.end();
}

Decision Undecided(VerdictReason reason) {
  return {.verdict = Verdict::kUndecided, .reason = reason, .rule = ""};
}

Decision Denied(VerdictReason reason, std::string rule = "") {
  return {.verdict = Verdict::kDenied, .reason = reason, .rule = std::move(rule)};
}

Decision Allowed(VerdictReason reason, std::string rule = "") {
  return {.verdict = Verdict::kAllowed, .reason = reason, .rule = std::move(rule)};
}

}  // namespace

const char* VerdictReasonText(VerdictReason reason) {
  switch (reason) {
    case VerdictReason::kAllowRule:
      return "a rule allows it";
    case VerdictReason::kDenyRule:
      return "a rule denies it";
    case VerdictReason::kNoRule:
      return "no rule names it";
    case VerdictReason::kPort:
      return "no rule names its port";
    case VerdictReason::kAddress:
      return "it is an address, not a name";
    case VerdictReason::kNotPublic:
      return "it leads to an address that is not public";
    case VerdictReason::kThisMachine:
      return "it leads to this machine";
    case VerdictReason::kPublic:
      return "it leads to a public address";
    case VerdictReason::kPrivateRule:
      return "a rule allows the address that it leads to";
  }
  return "";
}

Decision DecideName(const NetworkRules& rules, const HostName& name) {
  for (const HostRule& rule : rules.deny) {
    if (!rule.port && rule.pattern.Matches(name)) {
      return Denied(VerdictReason::kDenyRule, rule.text());
    }
  }
  for (const HostRule& rule : rules.allow) {
    if (rule.pattern.Matches(name)) return Allowed(VerdictReason::kAllowRule, rule.text());
  }
  return Undecided(VerdictReason::kNoRule);
}

Decision DecideConnection(const NetworkRules& rules, const NamedHost& host, std::uint16_t port) {
  const HostName* name = std::get_if<HostName>(&host);
  if (name == nullptr) return Denied(VerdictReason::kAddress);
  for (const HostRule& rule : rules.deny) {
    const bool is_of_port = !rule.port || *rule.port == port;
    if (is_of_port && rule.pattern.Matches(*name)) {
      return Denied(VerdictReason::kDenyRule, rule.text());
    }
  }
  bool is_named = false;
  for (const HostRule& rule : rules.allow) {
    if (!rule.pattern.Matches(*name)) continue;
    if (AllowsPort(rule, port)) return Allowed(VerdictReason::kAllowRule, rule.text());
    is_named = true;
  }
  return Undecided(is_named ? VerdictReason::kPort : VerdictReason::kNoRule);
}

Decision DecideAddress(const NetworkRules& rules, const HostName& name, const IpAddress& address,
                       bool is_own) {
  const bool is_public = KindOf(address) == AddressKind::kPublic;
  if (is_public && !is_own) return Allowed(VerdictReason::kPublic);
  for (const PrivateRule& rule : rules.allow_private) {
    if (rule.Permits(name, address)) return Allowed(VerdictReason::kPrivateRule, rule.text());
  }
  return Denied(is_public ? VerdictReason::kThisMachine : VerdictReason::kNotPublic);
}

const char* ConnectionViaName(ConnectionVia via) {
  switch (via) {
    case ConnectionVia::kTransparent:
      return "transparent";
    case ConnectionVia::kConnect:
      return "connect";
    case ConnectionVia::kHttp:
      return "http";
    case ConnectionVia::kSocks:
      return "socks";
    case ConnectionVia::kHostPort:
      return "host-port";
  }
  return "";
}

}  // namespace native_runner
