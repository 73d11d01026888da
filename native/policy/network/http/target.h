#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/network/http/request.h"

namespace native_runner {

// Sets form, host, port and path by the target of the request line; of the forms that name no host
// only form and path. No user information, no fragment, no scheme but http: whoever wants TLS asks
// for a tunnel by CONNECT. Pure.
std::optional<HttpFault> ReadTarget(std::string_view target, HttpRequest* request);

// A host with or without a port, as in Host; IPv6 in brackets. nullopt for anything else, and for a
// colon without a port.
struct Authority {
  NamedHost host;
  std::optional<std::uint16_t> port;
};
std::optional<Authority> ParseAuthority(std::string_view text);

}  // namespace native_runner
