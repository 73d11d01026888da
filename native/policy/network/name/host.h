#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "policy/network/address/ip_address.h"
#include "policy/network/name/host_name.h"
#include "policy/result.h"

namespace native_runner {

// Whom a client asks for: by name, or by an address, whatever way that was spelled.
using NamedHost = std::variant<HostName, IpAddress>;

// "example.com", "192.0.2.1", "2001:db8::1".
std::string HostText(const NamedHost& host);

// What is an address in any spelling is one, never a name. Pure.
Result<NamedHost, HostFault> ParseHost(std::string_view text);

// The two parts of "host:port", where IPv6 stands in brackets (RFC 3986 3.2). `port` is what stands
// behind the colon, unread; without a colon there is none. nullopt where brackets or colons don't
// fit.
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
};
std::optional<HostAndPort> SplitHostPort(std::string_view text);

// 1 to 65535 in decimal, without sign, blanks or leading zeros.
std::optional<std::uint16_t> ParsePort(std::string_view text);

}  // namespace native_runner
