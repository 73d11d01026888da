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

// How a connection asked for its host.
enum class ConnectionVia {
  kTransparent,  // it resolved the name, and connected to the address that the name has inside
  kConnect,      // of the proxy, by HTTP's CONNECT
  kHttp,         // of the proxy, by an HTTP request in absolute form
  kSocks,        // of the proxy, by SOCKS 5
};

// "transparent", "connect", "http", "socks": as audits have it.
const char* ConnectionViaName(ConnectionVia via);

// The reason where somebody was asked and has not said anything: nobody has refused it.
inline constexpr char kNoAnswer[] = "onRequest gave no answer";

// One connection that a command made or was refused, as its audit lists it. A plain value.
struct ConnectionRecord {
  std::string host;        // in the one spelling of HostText
  std::uint16_t port = 0;  // 0: the name was refused before there was a connection to a port
  std::string address;     // of the host's network: what was connected to, or refused; or empty
  bool allowed = false;
  std::string rule;    // the entry that decided, in its one spelling; "onRequest"; or empty
  std::string reason;  // of a denial or a failure, a clause: "no rule names it"; or empty
  ConnectionVia via = ConnectionVia::kTransparent;
  std::uint64_t bytes_out = 0;  // that the command sent and the host's network took
  std::uint64_t bytes_in = 0;
  double duration_ms = 0;
  std::uint64_t count = 1;  // denials alike in all the above are one record

  bool operator==(const ConnectionRecord&) const = default;
};

// Of one command, in the order in which they began. Bounded: what is over kMostConnectionRecords is
// counted only.
inline constexpr std::size_t kMostConnectionRecords = 10'000;
struct ConnectionLog {
  std::vector<ConnectionRecord> connections;
  std::uint64_t omitted = 0;
};

}  // namespace native_runner
