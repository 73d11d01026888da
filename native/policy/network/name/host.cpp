#include "policy/network/name/host.h"

#include <algorithm>
#include <cstddef>

#include "policy/network/address/ip_parse.h"
#include "policy/text/ascii.h"

namespace native_runner {

std::string HostText(const NamedHost& host) {
  const HostName* name = std::get_if<HostName>(&host);
  return name != nullptr ? name->text() : IpText(std::get<IpAddress>(host));
}

Result<NamedHost, HostFault> ParseHost(std::string_view text) {
  if (const auto address = ParseIpAddress(text)) return NamedHost(*address);
  Result<HostName, HostFault> name = ParseHostName(text);
  if (!name) return name.error();
  return NamedHost(std::move(name.value()));
}

std::optional<HostAndPort> SplitHostPort(std::string_view text) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    end = bracket + 1 == text.size() ? std::string_view::npos : bracket + 1;
    if (end != std::string_view::npos && text[end] != ':') return std::nullopt;
  }
  if (end == std::string_view::npos) return HostAndPort{.host = text, .port = std::nullopt};
  const std::string_view port = text.substr(end + 1);
  if (port.find(':') != std::string_view::npos) return std::nullopt;
  return HostAndPort{.host = text.substr(0, end), .port = port};
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  if (text.empty() || text.size() > 5 || text.front() == '0') return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), IsAsciiDigit)) return std::nullopt;
  unsigned value = 0;
  for (const char c : text)
    value = value * 10 + static_cast<unsigned>(c - '0');
  return value <= 0xffff ? std::optional(static_cast<std::uint16_t>(value)) : std::nullopt;
}

}  // namespace native_runner
