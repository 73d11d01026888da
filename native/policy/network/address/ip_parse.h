#pragma once

#include <optional>
#include <string_view>

#include "policy/network/address/ip_address.h"

namespace native_runner {

// What address a program means by `text`, in any spelling that some program accepts, so that none
// passes for a name; nullopt for what no program takes for an address. Pure.
//   IPv4: what inet_aton(3) takes: one to four numbers, each decimal, octal (0…) or hexadecimal
//         (0x…), the last filling the rest ("127.1", "0x7f000001", "017700000001"); one dot more at
//         the end, which the URL standard takes.
//   IPv6: RFC 4291 2.2, an IPv4 tail, a zone (RFC 4007: "%eth0", which is left out of the value),
//         and brackets around it (RFC 3986 3.2.2).
// Where programs differ ("010.0.0.1": octal for most, decimal for some), this is inet_aton's
// reading; nothing may be allowed by it alone.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

// The same for what people write down as policy: four decimal numbers without a leading zero, or
// IPv6 without zone and brackets.
std::optional<IpAddress> ParsePlainIpAddress(std::string_view text);

// Whether the last label (before a dot at the end) is a number, decimal or 0x…: such text is an
// IPv4 address or nothing, never a name (URL standard, "ends in a number checker").
bool EndsInNumber(std::string_view text);

}  // namespace native_runner
