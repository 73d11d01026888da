#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/network_rules.h"

namespace native_runner {

enum class Verdict {
  kAllowed,
  kDenied,
  kUndecided,  // no rule decides: `onRequest` is asked; without one it is a denial
};

enum class VerdictReason {
  kAllowRule,
  kDenyRule,
  kNoRule,       // no rule names the host
  kPort,         // a rule allows the host, on other ports
  kAddress,      // asked for by address, which no rule can name
  kNotPublic,    // the name leads to an address that is not public
  kThisMachine,  // the name leads to a public address of the host itself
  kPublic,       // the name leads to a public address
  kPrivateRule   // `allowPrivate` names the address that it leads to
};

struct Decision {
  Verdict verdict = Verdict::kDenied;
  VerdictReason reason = VerdictReason::kNoRule;
  std::string rule;  // the rule that decided, in its canonical spelling; empty: none
};

// Returns "no rule names it", "no rule names its port" and so on, for records and messages.
const char* VerdictReasonText(VerdictReason reason);

// Decides if a name may be resolved: if a connection to it could be allowed on some port.
Decision DecideName(const NetworkRules& rules, const HostName& name);

// Decides if a connection to a host may be made. `deny` beats `allow`.
Decision DecideConnection(const NetworkRules& rules, const NamedHost& host, std::uint16_t port);

// Decides if the allowed name `name` may lead to `address`, which is the one that will be connected
// to. Never kUndecided, because `onRequest` does not decide about addresses. `is_own`: the address
// is the host's own, which is treated like one that is not public.
Decision DecideAddress(const NetworkRules& rules, const HostName& name, const IpAddress& address,
                       bool is_own = false);

// How a connection named its host.
enum class ConnectionVia {
  kTransparent,  // it resolved the name and connected to the address that the name has inside
  kConnect,      // asked the proxy by HTTP's CONNECT
  kHttp,         // asked the proxy by an HTTP request in absolute form
  kSocks,        // asked the proxy by SOCKS 5
  kHostPort,     // connected to a port of its loopback that stands for one of the host's
};

// Returns "transparent", "connect", "http", "socks" or "host-port", as in audits.
const char* ConnectionViaName(ConnectionVia via);

// The reason if `onRequest` was called and gave no answer.
inline constexpr char kNoAnswer[] = "onRequest gave no answer";

// One connection that a command made or was refused, as its audit lists it. A plain value.
struct ConnectionRecord {
  std::string host;        // in the canonical spelling of HostText
  std::uint16_t port = 0;  // 0: the name was refused before a connection to a port
  std::string address;     // on the host's network: connected to, or refused; or empty
  bool allowed = false;
  std::string rule;    // the rule that decided, in its canonical spelling; "onRequest"; or empty
  std::string reason;  // of a denial or a failure, a clause: "no rule names it"; or empty
  ConnectionVia via = ConnectionVia::kTransparent;
  std::uint64_t bytes_out = 0;  // sent by the command and taken by the host's network
  std::uint64_t bytes_in = 0;
  double duration_ms = 0;
  std::uint64_t count = 1;  // denials equal in all the fields above are one record

  bool operator==(const ConnectionRecord&) const = default;
};

// The connections of one command, in the order in which they began. Connections beyond
// kMostConnectionRecords are only counted.
inline constexpr std::size_t kMostConnectionRecords = 10'000;
struct ConnectionLog {
  std::vector<ConnectionRecord> connections;
  std::uint64_t omitted = 0;
};

}  // namespace native_runner
