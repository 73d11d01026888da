#include "policy/network/network_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policy/network/ip_address.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr char kAddressWanted[] =
    "a host name; addresses are reached by a name, and `network.allowPrivate` says which";
constexpr char kNoHostWanted[] =
    R"("host", "host:port", "*.domain" or "*.domain:port", without a scheme or path)";

}  // namespace

Error UnexpectedRule(std::string_view field, std::string_view wanted, std::string_view got) {
  std::string message = "Expected `";
  message += field;
  message += "` to be ";
  message += wanted;
  message += ", got ";
  message += QuotedShort(got);
  return {.code = ErrorCode::kInvalidValue, .message = std::move(message), .fix = ""};
}

bool NamePattern::Matches(const HostName& host) const {
  return is_wildcard ? host.IsBelow(name) : host == name;
}

std::string NamePattern::text() const {
  return (is_wildcard ? "*." : "") + name.text();
}

std::string HostRule::text() const {
  return port ? pattern.text() + ":" + std::to_string(*port) : pattern.text();
}

Result<NamePattern> ReadNamePattern(std::string_view text, std::string_view field) {
  const bool is_wildcard = text.starts_with("*.");
  const std::string_view domain = is_wildcard ? text.substr(2) : text;
  if (domain.find('*') != std::string_view::npos) {
    return UnexpectedRule(field, R"(a host name, or "*." and a domain, "*" being whole labels)",
                          text);
  }
  if (domain.find('/') != std::string_view::npos) {
    return UnexpectedRule(field, kNoHostWanted, text);
  }
  if (ParseIpAddress(domain)) return UnexpectedRule(field, kAddressWanted, text);
  auto name = ParseHostName(domain);
  if (!name) return UnexpectedRule(field, HostFaultText(name.error()), text);
  return NamePattern{.name = std::move(name.value()), .is_wildcard = is_wildcard};
}

Result<HostRule> ReadHostRule(std::string_view text, std::string_view field) {
  if (ParseIpAddress(text)) return UnexpectedRule(field, kAddressWanted, text);
  const auto parts = SplitHostPort(text);
  if (!parts) return UnexpectedRule(field, kNoHostWanted, text);
  if (parts->port && parts->port->starts_with("//")) {
    return UnexpectedRule(field, kNoHostWanted, text);
  }
  std::optional<std::uint16_t> port;
  if (parts->port) {
    port = ParsePort(*parts->port);
    if (!port) return UnexpectedRule(field, "a host with a port from 1 to 65535", text);
  }
  TRY_ASSIGN(auto pattern, ReadNamePattern(parts->host, field));
  return HostRule{.pattern = std::move(pattern), .port = port};
}

namespace {

constexpr char kBlockWanted[] =
    R"(an address in its plain spelling ("10.0.0.5", "fd00::1") or a block whose host bits are 0 ("10.0.0.0/8"))";

// Returns the block that "10.0.0.5/8" lies in, as a suggestion: the entry could mean this block or
// the address alone, and has to be exact.
std::optional<std::string> BlockMeant(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = ParsePlainIpAddress(text.substr(0, slash));
  if (!address || slash == std::string_view::npos) return std::nullopt;
  for (unsigned length = 0; length <= 128; ++length) {
    if (text.substr(slash + 1) != std::to_string(length)) continue;
    const std::string block = CidrText(BlockOf(*address, length));
    return "a block whose host bits are 0, such as \"" + block + "\"";
  }
  return std::nullopt;
}

}  // namespace

bool PrivateRule::Permits(const HostName& host, const IpAddress& address) const {
  const AddressKind kind = KindOf(address);
  if (const auto* block = std::get_if<Cidr>(&what)) {
    return CanBeNamed(kind) && block->Contains(address);
  }
  return CanBeNamedByHost(kind) && std::get<NamePattern>(what).Matches(host);
}

std::string PrivateRule::text() const {
  const auto* block = std::get_if<Cidr>(&what);
  return block != nullptr ? CidrText(*block) : std::get<NamePattern>(what).text();
}

Result<PrivateRule> ReadPrivateRule(std::string_view text, std::string_view field) {
  if (const auto block = ParseCidr(text)) return PrivateRule{.what = *block};
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos || ParseIpAddress(text)) {
    return UnexpectedRule(field, BlockMeant(text).value_or(kBlockWanted), text);
  }
  const auto parts = SplitHostPort(text);
  if (!parts) return UnexpectedRule(field, kBlockWanted, text);
  if (parts->port) {
    return UnexpectedRule(field, "a host or a block of addresses without a port", text);
  }
  TRY_ASSIGN(auto pattern, ReadNamePattern(text, field));
  return PrivateRule{.what = std::move(pattern)};
}

namespace {

template <typename Rule>
std::optional<Error> ReadList(const std::vector<std::string>& texts, std::string_view field,
                              Result<Rule> (*read)(std::string_view, std::string_view),
                              std::vector<Rule>* rules) {
  if (texts.size() > kMostRules) {
    return Error{.code = ErrorCode::kOutOfRange,
                 .message = "Expected `" + std::string(field) + "` to have at most " +
                            std::to_string(kMostRules) + " entries, got " +
                            std::to_string(texts.size()),
                 .fix = ""};
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    TRY_ASSIGN(auto rule, read(texts[i], std::string(field) + "[" + std::to_string(i) + "]"));
    rules->push_back(std::move(rule));
  }
  return std::nullopt;
}

// Adds one entry for each port, so that "a" and "a:80", "a:443" give one text.
void AddTexts(const std::vector<HostRule>& rules, std::string_view list, bool has_default_ports,
              std::set<std::string>* lines) {
  for (const HostRule& rule : rules) {
    const std::string begin = std::string(list) + " ";
    if (rule.port || !has_default_ports) {
      lines->insert(begin + rule.text());
      continue;
    }
    for (const std::uint16_t port : kDefaultPorts)
      lines->insert(begin + HostRule{.pattern = rule.pattern, .port = port}.text());
  }
}

}  // namespace

Result<NetworkRules> ReadNetworkRules(const NetworkRuleTexts& texts) {
  NetworkRules rules;
  rules.asks = texts.asks;
  auto error = ReadList(texts.allow, "network.allow", ReadHostRule, &rules.allow);
  if (!error) error = ReadList(texts.deny, "network.deny", ReadHostRule, &rules.deny);
  if (!error) {
    error = ReadList(texts.allow_private, "network.allowPrivate", ReadPrivateRule,
                     &rules.allow_private);
  }
  std::vector<HostPort> host_ports;
  if (!error) error = ReadList(texts.host_ports, "network.hostPorts", ReadHostPort, &host_ports);
  if (error) return *std::move(error);
  TRY_ASSIGN(rules.host_ports, OnePerPort(std::move(host_ports)));
  const std::size_t ports = PortsOf(rules).size();
  if (ports > kMostPorts) {
    return Error{
        .code = ErrorCode::kOutOfRange,
        .message = "Expected `network.allow`" +
                   std::string(rules.host_ports.empty() ? "" : " and `network.hostPorts`") +
                   " to name at most " + std::to_string(kMostPorts) + " ports, got " +
                   std::to_string(ports),
        .fix = ""};
  }
  return rules;
}

std::vector<std::uint16_t> PortsOf(const NetworkRules& rules) {
  std::set<std::uint16_t> ports;
  bool has_default_ports = rules.asks;
  for (const HostRule& rule : rules.allow) {
    if (rule.port) ports.insert(*rule.port);
    has_default_ports = has_default_ports || !rule.port;
  }
  if (has_default_ports) ports.insert(kDefaultPorts.begin(), kDefaultPorts.end());
  for (const HostPort& entry : rules.host_ports)
    ports.insert(entry.port);
  return {ports.begin(), ports.end()};
}

std::string NetworkRulesText(const NetworkRules& rules) {
  std::set<std::string> lines;
  AddTexts(rules.allow, "allow", true, &lines);
  AddTexts(rules.deny, "deny", false, &lines);
  for (const PrivateRule& rule : rules.allow_private)
    lines.insert("allowPrivate " + rule.text());
  for (const HostPort& entry : rules.host_ports)
    lines.insert("hostPort " + entry.text());
  if (rules.asks) lines.insert("asks");
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

namespace {

bool HasPlace(const std::vector<HostRule>& places, const HostName& host, std::uint16_t port) {
  return std::any_of(places.begin(), places.end(), [&](const HostRule& place) {
    return place.port == port && place.pattern.Matches(host);
  });
}

}  // namespace

bool TlsTermination::Covers(const HostName& host, std::uint16_t port) const {
  return HasPlace(hosts, host, port);
}

bool TlsTermination::RefusesPlain(const HostName& host, std::uint16_t port) const {
  return HasPlace(plain, host, port);
}

std::string NetworkPolicyText(const NetworkPolicy& policy) {
  std::string text = NetworkRulesText(policy.rules);
  if (!policy.termination) return text;
  for (const std::string& line : policy.termination->texts)
    text += line + "\n";
  return text;
}

namespace {

constexpr std::string_view kBlanks = " \t\r";

// Takes the next word off `line`; empty if there is none.
std::string_view TakeWord(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(kBlanks), line->size()));
  const std::string_view word = line->substr(0, line->find_first_of(kBlanks));
  line->remove_prefix(word.size());
  return word;
}

// True for 127.0.0.0/16, which the sandbox never gives to an allowed name; ::1; and the groups that
// Debian lists (ff02::1), to which nothing can connect.
bool IsHarmless(const IpAddress& address) {
  const auto bytes = address.bytes();
  if (address.is_v4()) return bytes[0] == 127 && bytes[1] == 0;
  const bool is_loopback = bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1,
                                                            [](auto byte) { return byte == 0; });
  return is_loopback || bytes[0] == 0xff || (bytes[0] == 0xfe && bytes[1] == 0);
}

bool IsAllowed(const NetworkRules& rules, std::string_view word) {
  const auto name = ParseHostName(word);
  if (!name) return false;  // the resolver would not be asked for it either
  return std::any_of(rules.allow.begin(), rules.allow.end(),
                     [&name](const HostRule& rule) { return rule.pattern.Matches(name.value()); });
}

}  // namespace

bool NamesOnlyLoopback(std::string_view hosts_file, const NetworkRules& rules) {
  bool has_localhost = false;
  while (!hosts_file.empty()) {
    std::string_view line = hosts_file.substr(0, hosts_file.find('\n'));
    hosts_file.remove_prefix(std::min(line.size() + 1, hosts_file.size()));
    line = line.substr(0, line.find('#'));
    const std::string_view first = TakeWord(&line);
    if (first.empty()) continue;
    const auto address = ParsePlainIpAddress(first);
    if (!address || !IsHarmless(*address)) return false;
    for (std::string_view word = TakeWord(&line); !word.empty(); word = TakeWord(&line)) {
      if (IsAllowed(rules, word)) return false;
      has_localhost |= word == "localhost" && address->is_v4();
    }
  }
  return has_localhost;
}

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
