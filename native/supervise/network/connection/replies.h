#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/network/name/host.h"
#include "policy/network/socks/socks_request.h"
#include "supervise/network/dial/dialer.h"

namespace native_runner {

// What clients of the proxy are told. Pure.

// "no rule allows a.test:443", or "a.test:443 is refused: REASON".
std::string RefusalText(const NamedHost& host, std::uint16_t port, std::string_view reason);

// A whole answer, after which the connection is closed. `text` is a sentence without its stop.
std::string HttpRefusal(unsigned status, std::string_view text);

// Why it could not be connected.
unsigned HttpStatusOf(DialState state);
SocksReply SocksReplyOf(DialState state);

}  // namespace native_runner
