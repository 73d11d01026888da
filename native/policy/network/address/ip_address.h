#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace native_runner {

// An IPv4 or IPv6 address; a plain value. An IPv4 address inside IPv6 (::ffff:a.b.c.d, RFC 4291
// 2.5.5.2) is the IPv4 address, since that is what a socket connects to: no value of this type is
// a mapped one, so equal addresses compare equal and no check can be passed in disguise.
class IpAddress {
 public:
  using V6Bytes = std::array<std::uint8_t, 16>;

  IpAddress() = default;  // 0.0.0.0
  static IpAddress V4(std::uint32_t host_order);
  static IpAddress V6(const V6Bytes& bytes);

  bool is_v4() const { return is_v4_; }
  // In network order: 4 or 16 bytes.
  std::span<const std::uint8_t> bytes() const { return {bytes_.data(), is_v4_ ? 4U : 16U}; }
  // Of an IPv4 address: its number.
  std::uint32_t v4() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  bool is_v4_ = true;
  V6Bytes bytes_{};  // an IPv4 address has the first four
};

// The four bytes from `at` on as one number.
std::uint32_t FourBytes(std::span<const std::uint8_t> bytes, std::size_t at);

// "192.0.2.1", "2001:db8::1": RFC 5952, the one spelling to compare, record and hash.
std::string IpText(const IpAddress& address);

}  // namespace native_runner
