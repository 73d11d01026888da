#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace native_runner {

// An IPv4 or IPv6 address; a plain value. An IPv4 address inside IPv6 (::ffff:a.b.c.d, RFC 4291
// 2.5.5.2) becomes the IPv4 address, because a socket connects to that one. No value of this type
// is a mapped address, so equal addresses compare equal and no disguised address passes a check.
class IpAddress {
 public:
  using V6Bytes = std::array<std::uint8_t, 16>;

  IpAddress() = default;  // 0.0.0.0
  static IpAddress V4(std::uint32_t host_order);
  static IpAddress V6(const V6Bytes& bytes);

  bool is_v4() const { return is_v4_; }
  // In network order: 4 or 16 bytes.
  std::span<const std::uint8_t> bytes() const { return {bytes_.data(), is_v4_ ? 4U : 16U}; }
  // Returns the number of an IPv4 address.
  std::uint32_t v4() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  bool is_v4_ = true;
  V6Bytes bytes_{};  // an IPv4 address has the first four
};

// Returns the four bytes from `at` on as one number.
std::uint32_t FourBytes(std::span<const std::uint8_t> bytes, std::size_t at);

// Returns "192.0.2.1", "2001:db8::1": RFC 5952, the canonical spelling to compare, record and hash.
std::string IpText(const IpAddress& address);

// Returns the address that a program means by `text`, in any spelling that some program accepts, so
// that no address passes for a name; nullopt for text that no program takes for an address. Pure.
//   IPv4: the forms of inet_aton(3): one to four numbers, each decimal, octal (0…) or hexadecimal
//         (0x…), the last filling the rest ("127.1", "0x7f000001", "017700000001"); one more dot at
//         the end, which the URL standard takes.
//   IPv6: RFC 4291 2.2, an IPv4 tail, a zone (RFC 4007: "%eth0", which the value leaves out), and
//         brackets around it (RFC 3986 3.2.2).
// If programs differ ("010.0.0.1": octal for most, decimal for some), the result is inet_aton's
// reading; nothing may be allowed by it alone.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

// Parses an address as people write it in a policy: four decimal numbers without a leading zero, or
// IPv6 without zone and brackets.
std::optional<IpAddress> ParsePlainIpAddress(std::string_view text);

// True if the last label (before a dot at the end) is a number, decimal or 0x…: such text is an
// IPv4 address or invalid, never a name (URL standard, "ends in a number checker").
bool EndsInNumber(std::string_view text);

// A block of addresses (RFC 4632, RFC 4291 2.3). The bits after `length` are zero.
struct Cidr {
  IpAddress base;
  unsigned length = 32;  // 0 to 32 for IPv4, 0 to 128 for IPv6

  bool Contains(const IpAddress& address) const;
};

// Parses an address in its plain spelling, alone or with "/length". Returns nullopt if host bits
// are set ("10.0.0.5/8"), because the meaning would be a guess, and for anything else that is not a
// block. A block of mapped IPv6 addresses ("::ffff:10.0.0.0/104") is the IPv4 block.
std::optional<Cidr> ParseCidr(std::string_view text);

// Returns the block of this length that contains `address`.
Cidr BlockOf(const IpAddress& address, unsigned length);

// Returns "10.0.0.0/8"; a single address without its length.
std::string CidrText(const Cidr& block);

// The purpose of an address, by IANA's special-purpose address registries for IPv4 and IPv6 (RFC
// 6890, RFC 8190) and the address-family allocations. The table is in ip_address.cpp.
enum class AddressKind {
  kPublic,
  kUnspecified,  // 0.0.0.0/8 and ::, which connect(2) takes for the host's own loopback
  kLoopback,
  kPrivate,
  kShared,  // carrier-grade NAT
  kLinkLocal,
  kUniqueLocal,
  kMulticast,
  kBroadcast,
  kDocumentation,
  kBenchmarking,
  kProtocolAssignments,
  kNat64Local,
  kSixToFour,
  kTeredo,
  kIpv4Compatible,
  kDiscardOnly,
  kSiteLocal,
  kSegmentRouting,
  kReserved,
};

// Returns the kind of an address. An address of NAT64's well-known prefix has the kind of the IPv4
// address in it.
AddressKind KindOf(const IpAddress& address);

// Returns "public", "loopback", "link-local" and so on, for records and messages.
const char* AddressKindName(AddressKind kind);

// True if a policy may allow such an address by naming it. False for addresses that no TCP peer has
// and for those that connect to another address than they show.
bool CanBeNamed(AddressKind kind);

// True if a policy that names a host lets its names lead to such an address. False for link-local
// addresses, which have to be named as addresses: on many machines 169.254.169.254 gives
// credentials away.
bool CanBeNamedByHost(AddressKind kind);

}  // namespace native_runner
