#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "policy/network/host_name.h"

namespace native_runner {

// The protocol that a client of the proxy's port speaks, recognised by its first byte. An HTTP/1
// request begins with a method, which may be any token but in practice is letters (RFC 9110 9.1).
enum class ProxyProtocol { kHttp, kSocks5, kOther };

constexpr ProxyProtocol ProxyProtocolOf(std::uint8_t first) {
  const bool is_letter = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  if (is_letter) return ProxyProtocol::kHttp;
  return first == 5 ? ProxyProtocol::kSocks5 : ProxyProtocol::kOther;  // RFC 1928 3
}

// SOCKS 5 (RFC 1928) for a proxy without users: the client's greeting, then its request. Both are
// read from the beginning of the bytes received; neither is longer than 262 bytes.

enum class SocksState { kNeedsMore, kComplete, kMalformed };

struct SocksGreeting {
  SocksState state = SocksState::kNeedsMore;
  std::size_t size = 0;      // kComplete: its length in bytes
  bool offers_none = false;  // "no authentication required" is among the methods
};
SocksGreeting ReadSocksGreeting(std::span<const std::uint8_t> bytes);

// Encodes the answer to the greeting: the method, or that no method is acceptable.
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
  std::size_t size = 0;                       // kComplete: its length in bytes
  SocksReply reply = SocksReply::kSucceeded;  // another: refused with it, before any rule
  std::string asked;                          // the host as sent, bytes of any kind
  NamedHost host = IpAddress();               // kSucceeded
  std::uint16_t port = 0;
};

// Reads a request. Its name is read like any other: one with a NUL byte is refused, and an address
// in any spelling is the address. Pure.
SocksRequest ReadSocksRequest(std::span<const std::uint8_t> bytes);

std::array<std::uint8_t, 10> EncodeSocksReply(SocksReply reply);

}  // namespace native_runner
