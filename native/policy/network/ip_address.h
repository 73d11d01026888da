#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// A block of addresses (RFC 4632, RFC 4291 2.3). The bits behind `length` are zero.
struct Cidr {
  IpAddress base;
  unsigned length = 32;  // 0 to 32, or to 128

  bool Contains(const IpAddress& address) const;
};

// An address in its plain spelling, alone or with "/length". Host bits that are set are no mistake
// to guess about ("10.0.0.5/8"): nullopt, as for anything else that is not a block. A block of
// mapped IPv6 addresses ("::ffff:10.0.0.0/104") is the IPv4 block.
std::optional<Cidr> ParseCidr(std::string_view text);

// The block of that length in which `address` lies.
Cidr BlockOf(const IpAddress& address, unsigned length);

// "10.0.0.0/8"; a single address without its length.
std::string CidrText(const Cidr& block);

// What an address is for, by IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890,
// RFC 8190) and the address-family allocations. The table is in ip_address.cpp.
enum class AddressKind {
  kPublic,
  kUnspecified,  // 0.0.0.0/8 and ::, which a connect takes for the host's own loopback
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

// An address of NAT64's well-known prefix is what the IPv4 address in it is.
AddressKind KindOf(const IpAddress& address);

// "public", "loopback", "link-local" and so on, for records and messages.
const char* AddressKindName(AddressKind kind);

// Whether it may be connected to when a policy names it by its address: not what no TCP peer has,
// and not what connects to something else than it says.
bool CanBeNamed(AddressKind kind);

// Whether a policy that names the host lets its names lead there. Not to link-local addresses: on
// many machines 169.254.169.254 gives credentials away, so these have to be named as addresses.
bool CanBeNamedByHost(AddressKind kind);

}  // namespace native_runner
