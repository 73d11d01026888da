#include "policy/network/ip_address.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kGroups = 8;

std::uint32_t GroupAt(std::span<const std::uint8_t> bytes, std::size_t group) {
  return static_cast<std::uint32_t>(bytes[2 * group] << 8 | bytes[2 * group + 1]);
}

struct ZeroRun {
  std::size_t begin = kGroups;
  std::size_t length = 1;  // RFC 5952 4.2.2: one group alone is not shortened
};

// Returns the longest run of zero groups; of equal ones the first (RFC 5952 4.2.3).
ZeroRun LongestZeroRun(std::span<const std::uint8_t> bytes) {
  ZeroRun longest;
  for (std::size_t begin = 0; begin < kGroups; ++begin) {
    std::size_t end = begin;
    while (end < kGroups && GroupAt(bytes, end) == 0)
      ++end;
    if (end - begin > longest.length) longest = {.begin = begin, .length = end - begin};
    begin = std::max(begin, end);
  }
  return longest;
}

std::string HexText(std::uint32_t value) {
  std::array<char, 8> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16);
  return {buffer.data(), end.ptr};
}

std::string V6Text(std::span<const std::uint8_t> bytes) {
  const ZeroRun run = LongestZeroRun(bytes);
  std::string text;
  for (std::size_t group = 0; group < kGroups;) {
    if (group == run.begin) {
      text += "::";
      group += run.length;
      continue;
    }
    if (!text.empty() && !text.ends_with("::")) text += ':';
    text += HexText(GroupAt(bytes, group));
    ++group;
  }
  return text;
}

}  // namespace

IpAddress IpAddress::V4(std::uint32_t host_order) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i)
    address.bytes_[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  return address;
}

IpAddress IpAddress::V6(const V6Bytes& bytes) {
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    return V4(FourBytes(bytes, kMapped.size()));
  }
  IpAddress address;
  address.is_v4_ = false;
  address.bytes_ = bytes;
  return address;
}

std::uint32_t IpAddress::v4() const {
  return FourBytes(bytes_, 0);
}

std::uint32_t FourBytes(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | bytes[at + i];
  return value;
}

std::string IpText(const IpAddress& address) {
  const auto bytes = address.bytes();
  if (!address.is_v4()) return V6Text(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += '.';
    text += std::to_string(byte);
  }
  return text;
}

namespace {

constexpr std::size_t kMostText = 256;  // no address is longer, apart from extra zeros

bool HasHexPrefix(std::string_view text) {
  return text.size() >= 2 && text[0] == '0' && AsciiLower(text[1]) == 'x';
}

// Parses a number as strtoul does with base 0. "0x" alone is 0, as in the URL standard; "08" is not
// a number.
std::optional<std::uint32_t> AnyBaseNumber(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned base = 10;
  if (HasHexPrefix(text)) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = HexDigit(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
    value = value * base + static_cast<unsigned>(digit);
    if (value > 0xffffffffU) return std::nullopt;
  }
  return static_cast<std::uint32_t>(value);
}

// Parses one to four numbers. Each but the last is a byte; the last fills the remaining bytes.
std::optional<IpAddress> ParseAnyV4(std::string_view text) {
  if (text.size() > 1 && text.ends_with('.')) text.remove_suffix(1);
  std::uint32_t high = 0;
  for (unsigned part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    const auto number = AnyBaseNumber(text.substr(0, dot));
    if (!number) return std::nullopt;
    if (dot == std::string_view::npos) {
      const std::uint32_t most = 0xffffffffU >> (8 * part);
      if (*number > most) return std::nullopt;
      return IpAddress::V4(high | *number);
    }
    if (*number > 0xff || part == 3) return std::nullopt;
    high |= *number << (24 - 8 * part);
    text.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

std::optional<IpAddress> ParseDottedQuad(std::string_view text) {
  const auto address = ParseAnyV4(text);
  return address && IpText(*address) == text ? address : std::nullopt;
}

// Reads one side of "::", or a whole address: groups of hexadecimal digits, the last of which may
// be IPv4.
class GroupReader {
 public:
  // True if `text` consists of groups only, and they are at most eight.
  bool Read(std::string_view text) {
    if (text.empty()) return true;
    while (true) {
      const std::size_t colon = text.find(':');
      const std::string_view group = text.substr(0, colon);
      const bool is_last = colon == std::string_view::npos;
      if (!(is_last && group.find('.') != std::string_view::npos ? AddV4(group) : AddHex(group))) {
        return false;
      }
      if (is_last) return true;
      text.remove_prefix(colon + 1);
    }
  }

  std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }

 private:
  bool AddHex(std::string_view group) {
    if (group.empty() || group.size() > 4 || size_ + 2 > bytes_.size()) return false;
    unsigned value = 0;
    for (const char c : group) {
      const int digit = HexDigit(c);
      if (digit < 0) return false;
      value = value << 4 | static_cast<unsigned>(digit);
    }
    bytes_[size_++] = static_cast<std::uint8_t>(value >> 8);
    bytes_[size_++] = static_cast<std::uint8_t>(value);
    return true;
  }

  bool AddV4(std::string_view text) {
    const auto address = ParseDottedQuad(text);
    if (!address || size_ + 4 > bytes_.size()) return false;
    for (const std::uint8_t byte : address->bytes())
      bytes_[size_++] = byte;
    return true;
  }

  IpAddress::V6Bytes bytes_{};
  std::size_t size_ = 0;
};

std::optional<IpAddress> ParseV6(std::string_view text) {
  const std::size_t gap = text.find("::");
  GroupReader head;
  GroupReader tail;
  if (!head.Read(text.substr(0, gap))) return std::nullopt;
  if (gap == std::string_view::npos) {
    if (head.bytes().size() != 16) return std::nullopt;
  } else {
    if (text.substr(0, gap).find('.') != std::string_view::npos) return std::nullopt;
    if (!tail.Read(text.substr(gap + 2))) return std::nullopt;
    if (head.bytes().size() + tail.bytes().size() > 14) return std::nullopt;
  }
  IpAddress::V6Bytes bytes{};
  std::copy(head.bytes().begin(), head.bytes().end(), bytes.begin());
  std::copy_backward(tail.bytes().begin(), tail.bytes().end(), bytes.end());
  return IpAddress::V6(bytes);
}

}  // namespace

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  if (text.size() > kMostText) return std::nullopt;
  const bool has_brackets = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (has_brackets) text = text.substr(1, text.size() - 2);
  if (text.find(':') == std::string_view::npos) {
    return has_brackets ? std::nullopt : ParseAnyV4(text);
  }
  const std::size_t zone = text.find('%');
  if (zone != std::string_view::npos) {
    if (zone + 1 == text.size()) return std::nullopt;
    text = text.substr(0, zone);
  }
  return ParseV6(text);
}

std::optional<IpAddress> ParsePlainIpAddress(std::string_view text) {
  if (text.size() > kMostText) return std::nullopt;
  return text.find(':') == std::string_view::npos ? ParseDottedQuad(text) : ParseV6(text);
}

bool EndsInNumber(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  const std::size_t dot = text.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? text : text.substr(dot + 1);
  if (last.empty()) return false;
  if (std::all_of(last.begin(), last.end(), IsAsciiDigit)) return true;
  return HasHexPrefix(last) &&
         std::all_of(last.begin() + 2, last.end(), [](char c) { return HexDigit(c) >= 0; });
}

namespace {

constexpr unsigned kMappedBits = 96;

unsigned Width(const IpAddress& address) {
  return address.is_v4() ? 32 : 128;
}

std::uint8_t MaskAt(std::size_t byte, unsigned length) {
  const unsigned before = static_cast<unsigned>(8 * byte);
  if (length >= before + 8) return 0xff;
  return static_cast<std::uint8_t>(length <= before ? 0 : 0xff << (before + 8 - length));
}

std::optional<unsigned> Length(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  if (!std::all_of(text.begin(), text.end(), IsAsciiDigit)) return std::nullopt;
  unsigned value = 0;
  for (const char c : text)
    value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

}  // namespace

bool Cidr::Contains(const IpAddress& address) const {
  return address.is_v4() == base.is_v4() && BlockOf(address, length).base == base;
}

Cidr BlockOf(const IpAddress& address, unsigned length) {
  length = std::min(length, Width(address));
  IpAddress::V6Bytes bytes{};
  for (std::size_t i = 0; i < address.bytes().size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(address.bytes()[i] & MaskAt(i, length));
  const IpAddress base =
      address.is_v4() ? IpAddress::V4(FourBytes(bytes, 0)) : IpAddress::V6(bytes);
  return {.base = base, .length = length};
}

std::optional<Cidr> ParseCidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view spelled = text.substr(0, slash);
  const auto address = ParsePlainIpAddress(spelled);
  if (!address) return std::nullopt;
  unsigned length = Width(*address);
  if (slash != std::string_view::npos) {
    const auto named = Length(text.substr(slash + 1));
    if (!named) return std::nullopt;
    length = *named;
    const bool is_mapped = address->is_v4() && spelled.find(':') != std::string_view::npos;
    if (is_mapped && length < kMappedBits) return std::nullopt;
    if (is_mapped) length -= kMappedBits;
    if (length > Width(*address)) return std::nullopt;
  }
  const Cidr block = BlockOf(*address, length);
  return block.base == *address ? std::optional(block) : std::nullopt;
}

std::string CidrText(const Cidr& block) {
  const std::string text = IpText(block.base);
  return block.length == Width(block.base) ? text : text + "/" + std::to_string(block.length);
}

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

// iana-ipv4-special-registry, without the blocks that it calls globally reachable; the first match
// counts. 168.63.129.16 is in no registry: it is the platform in Azure's machines, which gives out
// what 169.254.169.254 gives out elsewhere.
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
  std::uint64_t high;  // the first 64 bits: enough for every row (KindOfV6 checks the others)
  unsigned length;
  Kind kind;
};

// iana-ipv6-special-registry; the first match counts. Some blocks of 2001::/23 are globally
// reachable (RFC 7723, RFC 8155, RFC 7343, RFC 9374), but no service's name leads to them.
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
  return Kind::kReserved;  // RFC 4291 2.4: all other blocks are unassigned
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
