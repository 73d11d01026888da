#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "policy/network/host_name.h"

namespace native_runner {

// What a client of a proxy's port speaks; its first byte tells. A request of HTTP/1 begins with a
// method, which may be any token but in practice is letters (RFC 9110 9.1).
enum class ProxyProtocol { kHttp, kSocks5, kOther };

constexpr ProxyProtocol ProxyProtocolOf(std::uint8_t first) {
  const bool is_letter = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  if (is_letter) return ProxyProtocol::kHttp;
  return first == 5 ? ProxyProtocol::kSocks5 : ProxyProtocol::kOther;  // RFC 1928 3
}

// SOCKS 5 (RFC 1928) as far as a proxy needs it that has no users: the client's greeting, then its
// request. Both are read from the beginning of what has come; neither is longer than 262 bytes.

enum class SocksState { kNeedsMore, kComplete, kMalformed };

struct SocksGreeting {
  SocksState state = SocksState::kNeedsMore;
  std::size_t size = 0;      // kComplete: how many bytes it is
  bool offers_none = false;  // "no authentication required" is among the methods
};
SocksGreeting ReadSocksGreeting(std::span<const std::uint8_t> bytes);

// What the greeting is answered with: the method, or that none will do.
std::array<std::uint8_t, 2> EncodeSocksMethod(bool accepts);

// RFC 1928 6.
enum class SocksReply : std::uint8_t {
  kSucceeded = 0,
  kFailure = 1,
  kNotAllowed = 2,
  kNetworkUnreachable = 3,
  kHostUnreachable = 4,
  kConnectionRefused = 5,
  kCommandNotSupported = 7,  // BIND and UDP ASSOCIATE
  kAddressNotSupported = 8,
};

struct SocksRequest {
  SocksState state = SocksState::kNeedsMore;
  std::size_t size = 0;                       // kComplete: how many bytes it is
  SocksReply reply = SocksReply::kSucceeded;  // another: refused with it, before any rule
  std::string asked;                          // the host as it was sent, bytes of any kind
  NamedHost host = IpAddress();               // kSucceeded
  std::uint16_t port = 0;
};

// A name is read like any other: a NUL byte in it is refused, and an address in any spelling is the
// address. Pure.
SocksRequest ReadSocksRequest(std::span<const std::uint8_t> bytes);

std::array<std::uint8_t, 10> EncodeSocksReply(SocksReply reply);

}  // namespace native_runner
