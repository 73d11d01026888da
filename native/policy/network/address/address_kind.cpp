#include "policy/network/address/address_kind.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/network/address/cidr.h"

namespace native_runner {
namespace {

using Kind = AddressKind;

constexpr std::uint32_t Quad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

struct V4Row {
  std::uint32_t base;
  unsigned length;
  Kind kind;
};

// iana-ipv4-special-registry. What it calls globally reachable is left out; the first match counts.
// 168.63.129.16 is in no registry: in machines of Azure the platform is there, which gives out what
// 169.254.169.254 does elsewhere.
constexpr std::array kV4Rows = {
    V4Row{Quad(0, 0, 0, 0), 8, Kind::kUnspecified},             // RFC 791 3.2, RFC 1122 3.2.1.3
    V4Row{Quad(10, 0, 0, 0), 8, Kind::kPrivate},                // RFC 1918
    V4Row{Quad(100, 64, 0, 0), 10, Kind::kShared},              // RFC 6598
    V4Row{Quad(127, 0, 0, 0), 8, Kind::kLoopback},              // RFC 1122 3.2.1.3
    V4Row{Quad(168, 63, 129, 16), 32, Kind::kLinkLocal},        // see above
    V4Row{Quad(169, 254, 0, 0), 16, Kind::kLinkLocal},          // RFC 3927
    V4Row{Quad(172, 16, 0, 0), 12, Kind::kPrivate},             // RFC 1918
    V4Row{Quad(192, 0, 0, 0), 24, Kind::kProtocolAssignments},  // RFC 6890 2.1
    V4Row{Quad(192, 0, 2, 0), 24, Kind::kDocumentation},        // RFC 5737
    V4Row{Quad(192, 88, 99, 0), 24, Kind::kSixToFour},          // RFC 7526, relay anycast
    V4Row{Quad(192, 168, 0, 0), 16, Kind::kPrivate},            // RFC 1918
    V4Row{Quad(198, 18, 0, 0), 15, Kind::kBenchmarking},        // RFC 2544
    V4Row{Quad(198, 51, 100, 0), 24, Kind::kDocumentation},     // RFC 5737
    V4Row{Quad(203, 0, 113, 0), 24, Kind::kDocumentation},      // RFC 5737
    V4Row{Quad(224, 0, 0, 0), 4, Kind::kMulticast},             // RFC 5771
    V4Row{Quad(255, 255, 255, 255), 32, Kind::kBroadcast},      // RFC 919 7
    V4Row{Quad(240, 0, 0, 0), 4, Kind::kReserved},              // RFC 1112 4
};

struct V6Row {
  std::uint64_t high;  // the first 64 bits; no row needs more, but for the ones looked at below
  unsigned length;
  Kind kind;
};

// iana-ipv6-special-registry; the first match counts. Of 2001::/23 some blocks are globally
// reachable (RFC 7723, RFC 8155, RFC 7343, RFC 9374): none that a name of a service leads to.
constexpr std::array kV6Rows = {
    V6Row{0x0064ff9b00010000, 48, Kind::kNat64Local},           // RFC 8215
    V6Row{0x0100000000000000, 64, Kind::kDiscardOnly},          // RFC 6666
    V6Row{0x0100000000000001, 64, Kind::kDiscardOnly},          // RFC 9780, dummy prefix
    V6Row{0x2001000000000000, 32, Kind::kTeredo},               // RFC 4380
    V6Row{0x2001000200000000, 48, Kind::kBenchmarking},         // RFC 5180
    V6Row{0x2001000000000000, 23, Kind::kProtocolAssignments},  // RFC 2928
    V6Row{0x20010db800000000, 32, Kind::kDocumentation},        // RFC 3849
    V6Row{0x2002000000000000, 16, Kind::kSixToFour},            // RFC 3056, RFC 7526
    V6Row{0x3fff000000000000, 20, Kind::kDocumentation},        // RFC 9637
    V6Row{0x5f00000000000000, 16, Kind::kSegmentRouting},       // RFC 9602
    V6Row{0xfc00000000000000, 7, Kind::kUniqueLocal},           // RFC 4193
    V6Row{0xfe80000000000000, 10, Kind::kLinkLocal},            // RFC 4291 2.5.6
    V6Row{0xfec0000000000000, 10, Kind::kSiteLocal},            // RFC 3879
    V6Row{0xff00000000000000, 8, Kind::kMulticast},             // RFC 4291 2.7
    V6Row{0x2000000000000000, 3, Kind::kPublic},                // RFC 4291 2.4, RFC 3587
};

Kind KindOfV4(std::uint32_t address) {
  for (const V4Row& row : kV4Rows) {
    if (((address ^ row.base) >> (32 - row.length)) == 0) return row.kind;
  }
  return Kind::kPublic;
}

Kind KindOfV6(std::span<const std::uint8_t> bytes) {
  const std::uint64_t high = std::uint64_t{FourBytes(bytes, 0)} << 32 | FourBytes(bytes, 4);
  const std::uint32_t third = FourBytes(bytes, 8);
  const std::uint32_t last = FourBytes(bytes, 12);
  if (high == 0 && third == 0) {
    if (last == 0) return Kind::kUnspecified;  // RFC 4291 2.5.2
    if (last == 1) return Kind::kLoopback;     // RFC 4291 2.5.3
    return Kind::kIpv4Compatible;              // RFC 4291 2.5.5.1
  }
  if (high == 0x0064ff9b00000000 && third == 0) return KindOfV4(last);  // RFC 6052 2.1
  for (const V6Row& row : kV6Rows) {
    if (((high ^ row.high) >> (64 - row.length)) == 0) return row.kind;
  }
  return Kind::kReserved;  // RFC 4291 2.4: nothing else has been given out
}

}  // namespace

AddressKind KindOf(const IpAddress& address) {
  return address.is_v4() ? KindOfV4(address.v4()) : KindOfV6(address.bytes());
}

const char* AddressKindName(AddressKind kind) {
  switch (kind) {
    case Kind::kPublic:
      return "public";
    case Kind::kUnspecified:
      return "unspecified";
    case Kind::kLoopback:
      return "loopback";
    case Kind::kPrivate:
      return "private";
    case Kind::kShared:
      return "shared";
    case Kind::kLinkLocal:
      return "link-local";
    case Kind::kUniqueLocal:
      return "unique-local";
    case Kind::kMulticast:
      return "multicast";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kDocumentation:
      return "documentation";
    case Kind::kBenchmarking:
      return "benchmarking";
    case Kind::kProtocolAssignments:
      return "protocol-assignments";
    case Kind::kNat64Local:
      return "nat64-local";
    case Kind::kSixToFour:
      return "6to4";
    case Kind::kTeredo:
      return "teredo";
    case Kind::kIpv4Compatible:
      return "ipv4-compatible";
    case Kind::kDiscardOnly:
      return "discard-only";
    case Kind::kSiteLocal:
      return "site-local";
    case Kind::kSegmentRouting:
      return "segment-routing";
    case Kind::kReserved:
      return "reserved";
  }
  return "";
}

bool CanBeNamed(AddressKind kind) {
  return kind != Kind::kUnspecified && kind != Kind::kMulticast && kind != Kind::kBroadcast &&
         kind != Kind::kIpv4Compatible;
}

bool CanBeNamedByHost(AddressKind kind) {
  return kind == Kind::kPublic || kind == Kind::kLoopback || kind == Kind::kPrivate ||
         kind == Kind::kShared || kind == Kind::kUniqueLocal;
}

}  // namespace native_runner
