#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/current.h"
#include "policy/network/host_name.h"
#include "policy/network/ip_address.h"
#include "policy/result.h"

namespace native_runner {

// A name, or with "*." before it all names below it, by at least one whole label, but not the name
// itself.
struct NamePattern {
  HostName name;
  bool is_wildcard = false;

  bool Matches(const HostName& host) const;
  std::string text() const;
};

// One entry of `network.allow` or `network.deny`: "host", "host:port", "*.domain", "*.domain:port".
// The list defines the meaning of an entry without a port (see NetworkRules).
struct HostRule {
  NamePattern pattern;
  std::optional<std::uint16_t> port;

  // In the canonical spelling that is recorded and hashed.
  std::string text() const;
};

// Reads an entry. `field` names it in an error ("network.allow[2]"). Refuses an address in any
// spelling, because addresses belong in `network.allowPrivate`. Pure.
Result<HostRule> ReadHostRule(std::string_view text, std::string_view field);

// Reads the pattern alone, without a port.
Result<NamePattern> ReadNamePattern(std::string_view text, std::string_view field);

// Returns "Expected `FIELD` to be WANTED, got GOT", with `got` quoted.
Error UnexpectedRule(std::string_view field, std::string_view wanted, std::string_view got);

// One entry of `network.allowPrivate`: a host (or "*." and a domain) whose names may lead to
// addresses that are not public, or a block of such addresses, to which any allowed name may lead.
// It opens nothing by itself: the name has to be allowed as well.
struct PrivateRule {
  std::variant<NamePattern, Cidr> what;

  // True if the rule lets `host` lead to `address`, which is not public.
  bool Permits(const HostName& host, const IpAddress& address) const;
  // In the canonical spelling that is recorded and hashed.
  std::string text() const;
};

// Reads an entry. Takes addresses in their plain spelling only, so that an entry is not ambiguous.
// Refuses a port, since the rule that allows the name has it. Pure.
Result<PrivateRule> ReadPrivateRule(std::string_view text, std::string_view field);

// The ports of an `allow` entry that names none.
inline constexpr std::array<std::uint16_t, 2> kDefaultPorts = {80, 443};
// The most entries of a list, and the most ports of all lists together: each port is a listener of
// every run.
inline constexpr std::size_t kMostRules = 1024;
inline constexpr std::size_t kMostPorts = 64;

// The options of `network: { allow, deny, allowPrivate, hostPorts, onRequest }`, as written.
struct NetworkRuleTexts {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> allow_private;
  bool asks = false;  // true if `onRequest` is given
  std::vector<std::string> host_ports = {};
};

// The same options, parsed. An `allow` entry without a port means kDefaultPorts; a `deny` entry
// without a port means every port, since it denies the host as a whole.
struct NetworkRules {
  std::vector<HostRule> allow;
  std::vector<HostRule> deny;
  std::vector<PrivateRule> allow_private;
  bool asks = false;
  std::vector<HostPort> host_ports = {};  // ascending, one per port
};

// Reads all rules. The first invalid entry is the error, named by its field: "network.deny[3]".
// Pure.
Result<NetworkRules> ReadNetworkRules(const NetworkRuleTexts& texts);

// Returns the ports that connections may use, ascending, each once: those of `allow` and of
// `hostPorts`, and kDefaultPorts if `onRequest` is given.
std::vector<std::uint16_t> PortsOf(const NetworkRules& rules);

// Returns the text to be hashed, an entry a line, in canonical spelling and order. Rules that
// decide alike give the same text.
std::string NetworkRulesText(const NetworkRules& rules);

// A file of the sandbox's own by which programs trust a certificate authority, in the place of the
// host's or where none is.
struct TrustFile {
  std::string path;  // absolute: where programs look
  std::shared_ptr<const std::string> text;
  bool is_own = false;  // it has to be there; false: only in the place of a file of the host's

  bool operator==(const TrustFile&) const = default;  // texts are equal if they are one object
};

using CurrentTrust = Current<std::vector<TrustFile>>;

// The hosts whose TLS ends on this host, for secrets and for rules about requests: their
// connections are handed to lib's terminator instead of relayed. Immutable but for `trust`.
struct TlsTermination {
  std::vector<HostRule> hosts;  // each with a port
  std::vector<HostRule> plain;  // each with a port: refused, since requests there are not looked at
  std::vector<std::string> texts;  // what the terminator does for them, a line each: to be hashed
  int channel = -1;                // see supervise/network/tunnel.h
  std::uint64_t number = 0;        // the runner's, for its Node environment; not hashed
  std::shared_ptr<CurrentTrust> trust;

  bool Covers(const HostName& host, std::uint16_t port) const;
  bool RefusesPlain(const HostName& host, std::uint16_t port) const;
};

// The hosts that commands may reach, and the `onRequest` that decides about the rest. Immutable,
// shared between threads.
struct NetworkPolicy {
  NetworkRules rules;
  std::uint64_t asker = 0;  // the addon's number; 0: no `onRequest`. Not hashed (rules.asks is)
  std::shared_ptr<const TlsTermination> termination = nullptr;  // TLS ends nowhere

  // True if TLS between `host` and a command ends on this host.
  bool EndsTls(const HostName& host, std::uint16_t port) const {
    return termination != nullptr && termination->Covers(host, port);
  }
};

// Returns the text to be hashed: the rules', and what is done where TLS ends.
std::string NetworkPolicyText(const NetworkPolicy& policy);

// True if programs in a sandbox with these rules may keep reading the host's hosts(5): it has
// "localhost", its other names lead to the machine's own loopback (the usual case), and no `allow`
// entry matches such a name. Otherwise a program would connect to an address from the file instead
// of asking the sandbox's resolver. Pure.
bool NamesOnlyLoopback(std::string_view hosts_file, const NetworkRules& rules);

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
