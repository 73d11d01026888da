#include "policy/network/address/cidr.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "policy/network/address/ip_parse.h"
#include "policy/text/ascii.h"

namespace native_runner {
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

}  // namespace native_runner
