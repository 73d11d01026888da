#include "policy/network/address/ip_address.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

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

// The longest run of zero groups, the first of equal ones (RFC 5952 4.2.3).
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

}  // namespace native_runner
