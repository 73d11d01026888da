#pragma once

#include <cstdint>

namespace native_runner {

// What a client of a proxy's port speaks; its first byte tells. A request of HTTP/1 begins with a
// method, which may be any token but in practice is letters (RFC 9110 9.1).
enum class ProxyProtocol { kHttp, kSocks5, kOther };

constexpr ProxyProtocol ProxyProtocolOf(std::uint8_t first) {
  const bool is_letter = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  if (is_letter) return ProxyProtocol::kHttp;
  return first == 5 ? ProxyProtocol::kSocks5 : ProxyProtocol::kOther;  // RFC 1928 3
}

}  // namespace native_runner
