#include "policy/network/rules/host_rule.h"

#include <utility>

#include "policy/network/address/ip_parse.h"
#include "policy/network/name/host.h"
#include "policy/text/quote.h"

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
  auto pattern = ReadNamePattern(parts->host, field);
  if (!pattern) return pattern.error();
  return HostRule{.pattern = std::move(pattern.value()), .port = port};
}

}  // namespace native_runner
