#include "policy/text/text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace native_runner {
namespace {

// The bytes that may follow a first byte: their number, and the range of the first of them.
struct Form {
  std::size_t more = 0;
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xBF;
  bool is_first = true;
};

Form FormOf(std::uint8_t first) {
  if (first < 0x80) return {};
  if (first >= 0xC2 && first <= 0xDF) return {.more = 1};
  if (first == 0xE0) return {.more = 2, .least = 0xA0};
  if (first == 0xED) return {.more = 2, .most = 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {.more = 2};
  if (first == 0xF0) return {.more = 3, .least = 0x90};
  if (first == 0xF4) return {.more = 3, .most = 0x8F};
  if (first >= 0xF1 && first <= 0xF3) return {.more = 3};
  return {.is_first = false};
}

}  // namespace

bool IsUtf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    Form form = FormOf(static_cast<std::uint8_t>(text[at++]));
    if (!form.is_first || text.size() - at < form.more) return false;
    for (; form.more > 0; --form.more) {
      const auto byte = static_cast<std::uint8_t>(text[at++]);
      if (byte < form.least || byte > form.most) return false;
      form.least = 0x80;
      form.most = 0xBF;
    }
  }
  return true;
}

namespace {

constexpr std::size_t kShortBytes = 200;
constexpr std::string_view kHex = "0123456789abcdef";

bool ContinuesUtf8(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
}

}  // namespace

std::string Quoted(std::string_view value) {
  std::string text;
  text.reserve(value.size() + 2);
  text += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += "\\u00";
      text += kHex[byte >> 4];
      text += kHex[byte & 0xf];
    } else {
      text += c;
    }
  }
  text += '"';
  return text;
}

std::string QuotedShort(std::string_view value) {
  if (value.size() <= kShortBytes) return Quoted(value);
  std::size_t end = kShortBytes;
  while (end > 0 && ContinuesUtf8(value[end]))
    --end;
  return Quoted(value.substr(0, end)) + "...";
}

namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN, in hexadecimal

// Returns the first words of a line: number, local address, remote address, state.
std::array<std::string_view, 4> FirstWords(std::string_view line) {
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  return words;
}

// True if an address, ADDRESS:PORT in hexadecimal, has this port.
bool HasPort(std::string_view address, std::uint16_t port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  address.remove_prefix(colon + 1);
  std::uint16_t found = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data(), end, found, 16);
  return parsed.ec == std::errc() && parsed.ptr == end && found == port;
}

}  // namespace

bool HasListener(std::string_view table, std::uint16_t port) {
  for (std::size_t end = 0; (end = table.find('\n')) != std::string_view::npos;) {
    const auto [number, local, remote, state] = FirstWords(table.substr(0, end));
    if (state == kListen && HasPort(local, port)) return true;
    table.remove_prefix(end + 1);
  }
  return false;
}

std::optional<std::uint64_t> SocketsInUse(std::string_view text, std::string_view protocol) {
  const std::string name = std::string(protocol) + ": inuse ";
  while (!text.empty() && !text.starts_with(name)) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (text.empty()) return std::nullopt;
  text.remove_prefix(name.size());
  std::uint64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc() ? std::optional(count) : std::nullopt;
}

}  // namespace native_runner
