#include "policy/network/host_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "policy/network/network_rules.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

// Punycode parameters (RFC 3492 5).
constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kTMin = 1;
constexpr std::uint32_t kTMax = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::uint32_t kInitialBias = 72;
constexpr std::uint32_t kInitialN = 0x80;
constexpr std::uint32_t kMost = 0x7fffffff;
constexpr std::uint32_t kLastCodePoint = 0x10ffff;

std::uint32_t Adapt(std::uint32_t delta, std::uint32_t points, bool is_first) {
  delta = is_first ? delta / kDamp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > (kBase - kTMin) * kTMax / 2; k += kBase)
    delta /= kBase - kTMin;
  return k + (kBase - kTMin + 1) * delta / (delta + kSkew);
}

std::uint32_t Threshold(std::uint32_t k, std::uint32_t bias) {
  return k <= bias ? kTMin : std::min(k - bias, kTMax);
}

// Returns 36 if `c` is not a digit.
std::uint32_t DigitOf(char c) {
  if (IsAsciiDigit(c)) return static_cast<std::uint32_t>(c - '0') + 26;
  return IsAsciiLetter(c) ? static_cast<std::uint32_t>(AsciiLower(c) - 'a') : kBase;
}

char CharacterOf(std::uint32_t digit) {
  return static_cast<char>(digit < 26 ? 'a' + digit : '0' + (digit - 26));
}

bool IsScalar(std::uint32_t point) {
  return point <= kLastCodePoint && (point < 0xd800 || point > 0xdfff);
}

bool IsBasic(char32_t point) {
  return point < kInitialN;
}

// Takes a generalized variable-length integer (RFC 3492 3.3) off the front of `text`.
std::optional<std::uint32_t> TakeDelta(std::string_view* text, std::uint32_t bias) {
  std::uint64_t value = 0;
  std::uint64_t weight = 1;
  for (std::uint32_t k = kBase;; k += kBase) {
    if (text->empty()) return std::nullopt;
    const std::uint32_t digit = DigitOf(text->front());
    text->remove_prefix(1);
    if (digit >= kBase) return std::nullopt;
    value += digit * weight;
    if (value > kMost) return std::nullopt;
    const std::uint32_t t = Threshold(k, bias);
    if (digit < t) return static_cast<std::uint32_t>(value);
    weight *= kBase - t;
    if (weight > kMost) return std::nullopt;
  }
}

void AppendDelta(std::string* text, std::uint32_t delta, std::uint32_t bias) {
  for (std::uint32_t k = kBase;; k += kBase) {
    const std::uint32_t t = Threshold(k, bias);
    if (delta < t) break;
    *text += CharacterOf(t + (delta - t) % (kBase - t));
    delta = (delta - t) / (kBase - t);
  }
  *text += CharacterOf(delta);
}

}  // namespace

std::optional<std::u32string> DecodePunycode(std::string_view text) {
  std::u32string points;
  const std::size_t hyphen = text.rfind('-');
  if (hyphen != std::string_view::npos) {
    for (const char c : text.substr(0, hyphen)) {
      if (static_cast<unsigned char>(c) >= kInitialN) return std::nullopt;
      points.push_back(static_cast<char32_t>(c));
    }
    text.remove_prefix(hyphen + 1);
  }
  std::uint64_t n = kInitialN;
  std::uint64_t i = 0;
  std::uint32_t bias = kInitialBias;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const auto delta = TakeDelta(&text, bias);
    if (!delta) return std::nullopt;
    const std::size_t count = points.size() + 1;
    bias = Adapt(*delta, static_cast<std::uint32_t>(count), is_first);
    i += *delta;
    n += i / count;
    i %= count;
    if (n > kLastCodePoint || !IsScalar(static_cast<std::uint32_t>(n))) return std::nullopt;
    points.insert(points.begin() + static_cast<std::ptrdiff_t>(i), static_cast<char32_t>(n));
    ++i;
  }
  return points;
}

std::string EncodePunycode(std::u32string_view code_points) {
  std::string text;
  for (const char32_t point : code_points) {
    if (IsBasic(point)) text += AsciiLower(static_cast<char>(point));
  }
  const std::size_t basic = text.size();
  std::size_t done = basic;
  if (basic > 0) text += '-';
  std::uint32_t n = kInitialN;
  std::uint32_t delta = 0;
  std::uint32_t bias = kInitialBias;
  while (done < code_points.size()) {
    std::uint32_t next = kMost;
    for (const char32_t point : code_points) {
      if (point >= n) next = std::min(next, static_cast<std::uint32_t>(point));
    }
    delta += (next - n) * static_cast<std::uint32_t>(done + 1);
    n = next;
    for (const char32_t point : code_points) {
      if (point < n) ++delta;
      if (point != n) continue;
      AppendDelta(&text, delta, bias);
      bias = Adapt(delta, static_cast<std::uint32_t>(done + 1), done == basic);
      delta = 0;
      ++done;
    }
    ++delta;
    ++n;
  }
  return text;
}

bool IsALabel(std::string_view label) {
  if (!label.starts_with("xn--")) return false;
  label.remove_prefix(4);
  const auto points = DecodePunycode(label);
  if (!points || std::all_of(points->begin(), points->end(), IsBasic)) return false;
  return EncodePunycode(*points) == label;
}

namespace {

constexpr std::size_t kMostBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

constexpr bool IsHostCharacter(char c) {
  return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '-' || c == '_';
}

std::optional<HostFault> LabelFault(std::string_view label) {
  if (label.empty()) return HostFault::kEmptyLabel;
  if (label.size() > kMostLabelBytes) return HostFault::kLongLabel;
  if (!std::all_of(label.begin(), label.end(), IsHostCharacter)) return HostFault::kCharacter;
  // A name that begins with "-" would be an option to any command that it is passed to.
  if (label.front() == '-') return HostFault::kHyphen;
  if (label.starts_with("xn--") && !IsALabel(label)) return HostFault::kALabel;
  return std::nullopt;
}

std::optional<HostFault> LabelsFault(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (const auto fault = LabelFault(text.substr(0, dot))) return fault;
    if (dot == std::string_view::npos) return std::nullopt;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

const char* HostFaultText(HostFault fault) {
  switch (fault) {
    case HostFault::kEmpty:
      return "a host name that is not empty";
    case HostFault::kTooLong:
      return "a host name of at most 253 characters";
    case HostFault::kEmptyLabel:
      return "a host name without an empty label";
    case HostFault::kLongLabel:
      return "a host name with labels of at most 63 characters";
    case HostFault::kNonAscii:
      return "a host name in ASCII (what `domainToASCII` of node:url makes of it)";
    case HostFault::kCharacter:
      return "a host name of letters, digits, hyphens and dots";
    case HostFault::kHyphen:
      return "a host name with no label that begins with a hyphen";
    case HostFault::kALabel:
      return "a host name whose labels with \"xn--\" are punycode";
    case HostFault::kNumber:
      return "a host name, which does not end in a number, or a whole address";
  }
  return "";
}

bool HostName::IsBelow(const HostName& parent) const {
  const std::size_t size = parent.text_.size();
  return text_.size() > size + 1 && text_.ends_with(parent.text_) &&
         text_[text_.size() - size - 1] == '.';
}

Result<HostName, HostFault> ParseHostName(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return HostFault::kEmpty;
  if (text.size() > kMostBytes) return HostFault::kTooLong;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::all_of(text.begin(), text.end(), is_ascii)) return HostFault::kNonAscii;
  std::string lowered = AsciiLowered(text);
  if (const auto fault = LabelsFault(lowered)) return *fault;
  if (EndsInNumber(lowered)) return HostFault::kNumber;
  return HostName(std::move(lowered));
}

std::string HostText(const NamedHost& host) {
  const HostName* name = std::get_if<HostName>(&host);
  return name != nullptr ? name->text() : IpText(std::get<IpAddress>(host));
}

Result<NamedHost, HostFault> ParseHost(std::string_view text) {
  if (const auto address = ParseIpAddress(text)) return NamedHost(*address);
  Result<HostName, HostFault> name = ParseHostName(text);
  if (!name) return name.error();
  return NamedHost(std::move(name.value()));
}

std::optional<HostAndPort> SplitHostPort(std::string_view text) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    end = bracket + 1 == text.size() ? std::string_view::npos : bracket + 1;
    if (end != std::string_view::npos && text[end] != ':') return std::nullopt;
  }
  if (end == std::string_view::npos) return HostAndPort{.host = text, .port = std::nullopt};
  const std::string_view port = text.substr(end + 1);
  if (port.find(':') != std::string_view::npos) return std::nullopt;
  return HostAndPort{.host = text.substr(0, end), .port = port};
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  if (text.empty() || text.size() > 5 || text.front() == '0') return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), IsAsciiDigit)) return std::nullopt;
  unsigned value = 0;
  for (const char c : text)
    value = value * 10 + static_cast<unsigned>(c - '0');
  return value <= 0xffff ? std::optional(static_cast<std::uint16_t>(value)) : std::nullopt;
}

namespace {

constexpr char kHostPortWanted[] =
    R"(a port of the host's loopback, from 1 to 65535: 5432, "127.0.0.1:5432" or "[::1]:5432")";

// Reads an address of the loopback: in 127.0.0.0/8, or ::1 in brackets. No other spelling, such as
// that of a mapped address, which some programs take for another one.
std::optional<IpAddress> ReadLoopback(std::string_view host) {
  if (host == "[::1]") {
    IpAddress::V6Bytes bytes{};
    bytes.back() = 1;
    return IpAddress::V6(bytes);
  }
  const auto address = ParsePlainIpAddress(host);
  const bool is_v4 = address && address->is_v4() && host.find(':') == std::string_view::npos;
  if (!is_v4 || address->bytes()[0] != 127) return std::nullopt;
  return address;
}

}  // namespace

std::string HostPort::text() const {
  const std::string host = IpText(address);
  return (address.is_v4() ? host : "[" + host + "]") + ":" + std::to_string(port);
}

Result<HostPort> ReadHostPort(std::string_view text, std::string_view field) {
  HostPort entry{.address = IpAddress::V4(0x7f000001), .port = 0};
  std::string_view digits = text;
  if (text.find(':') != std::string_view::npos) {
    const auto parts = SplitHostPort(text);
    const auto address = parts ? ReadLoopback(parts->host) : std::nullopt;
    if (!address || !parts->port) return UnexpectedRule(field, kHostPortWanted, text);
    entry.address = *address;
    digits = *parts->port;
  }
  const auto port = ParsePort(digits);
  if (!port) return UnexpectedRule(field, kHostPortWanted, text);
  if (*port == kDnsPort || *port == kProxyPort) {
    return UnexpectedRule(field,
                          "another port than 53 and 3128, which each sandbox has for its names and "
                          "its proxy",
                          text);
  }
  entry.port = *port;
  return entry;
}

Result<std::vector<HostPort>> OnePerPort(std::vector<HostPort> entries) {
  std::ranges::sort(entries, {},
                    [](const HostPort& each) { return std::pair(each.port, each.text()); });
  const auto is_same = [](const HostPort& one, const HostPort& other) {
    return one.port == other.port && one.address == other.address;
  };
  const auto last = std::unique(entries.begin(), entries.end(), is_same);
  entries.erase(last, entries.end());
  const auto same = std::ranges::adjacent_find(entries, {}, &HostPort::port);
  if (same == entries.end()) return entries;
  return Error{.code = ErrorCode::kInvalidValue,
               .message = "Expected `network.hostPorts` to have one address for each port, got " +
                          same->text() + " and " + std::next(same)->text(),
               .fix = ""};
}

}  // namespace native_runner
