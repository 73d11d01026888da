#pragma once

#include <cstdint>
#include <string>

#include "policy/network/name/host.h"
#include "policy/network/rules/network_rules.h"

namespace native_runner {

enum class Verdict {
  kAllowed,
  kDenied,
  kUndecided,  // no rule says: `onRequest` is asked, and where there is none it is a denial
};

enum class VerdictReason {
  kAllowRule,
  kDenyRule,
  kNoRule,       // no rule names the host
  kPort,         // a rule allows the host, on other ports
  kAddress,      // asked for by address: no rule can name it
  kNotPublic,    // the name leads to an address that is not public
  kThisMachine,  // the name leads to a public address of the host's own
  kPublic,       // the name leads to a public address
  kPrivateRule   // `allowPrivate` names where it leads
};

struct Decision {
  Verdict verdict = Verdict::kDenied;
  VerdictReason reason = VerdictReason::kNoRule;
  std::string rule;  // the one that decided, in its one spelling; empty for none
};

// "no rule names it", "the port is not allowed" and so on, for records and messages.
const char* VerdictReasonText(VerdictReason reason);

// Whether the name may be resolved: whether a connection to it could be allowed on some port.
Decision DecideName(const NetworkRules& rules, const HostName& name);

// Whether a connection may be made, by whom the client asks for. `deny` beats `allow`.
Decision DecideConnection(const NetworkRules& rules, const NamedHost& host, std::uint16_t port);

// Whether the allowed name `name` may lead to `address`, which is the one that will be connected
// to. Never kUndecided: nobody is asked about addresses. `is_own`: it is the host's own, which is
// as one that is not public.
Decision DecideAddress(const NetworkRules& rules, const HostName& name, const IpAddress& address,
                       bool is_own = false);

}  // namespace native_runner
