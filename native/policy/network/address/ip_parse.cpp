#include "policy/network/address/ip_parse.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/text/ascii.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostText = 256;  // no spelling of an address is longer, but for zeros

bool HasHexPrefix(std::string_view text) {
  return text.size() >= 2 && text[0] == '0' && AsciiLower(text[1]) == 'x';
}

// strtoul's base 0. "0x" alone is 0 for the URL standard, and "08" is nobody's number.
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

// One to four numbers; each but the last is a byte, the last fills what is left.
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

// One side of "::", or all of it: groups of hexadecimal digits, the last of which may be IPv4.
class GroupReader {
 public:
  // Whether `text` is nothing but groups, and there are at most eight.
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

}  // namespace native_runner
