#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace native_runner {

// <cctype> without the locale: protocols are ASCII in every locale of the host. Pure.
constexpr bool IsAsciiDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool IsAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns 0 to 15; -1 if `c` is not a hexadecimal digit.
constexpr int HexDigit(char c) {
  if (IsAsciiDigit(c)) return c - '0';
  const char lower = AsciiLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline std::string AsciiLowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), AsciiLower);
  return lowered;
}

inline bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return AsciiLower(x) == AsciiLower(y); });
}

// Takes what is before the separator, or all, and the separator with it.
inline std::string_view TakeUntil(std::string_view* rest, char separator) {
  const std::string_view taken = rest->substr(0, rest->find(separator));
  rest->remove_prefix(std::min(taken.size() + 1, rest->size()));
  return taken;
}

// True if `text` is UTF-8 by RFC 3629: no surrogates, no overlong forms.
bool IsUtf8(std::string_view text);

// Returns `value` in double quotes for a message or a line of text. Escapes quotes, backslashes and
// control characters as in JSON, so that the result is one line and unequal values stay unequal.
std::string Quoted(std::string_view value);

// Like Quoted, but cut after about 200 bytes (never inside a UTF-8 sequence), for error messages.
std::string QuotedShort(std::string_view value);

// True if `table`, the text of /proc/PID/net/tcp or tcp6 (proc_pid_net(5)), has a socket in the
// state LISTEN on a local port. Ignores lines that are cut off or malformed. Pure.
bool HasListener(std::string_view table, std::uint16_t port);

// Returns how many sockets of a protocol ("TCP", "TCP6") are in use, including those that listen.
// `text` is that of /proc/PID/net/sockstat or sockstat6; nullopt if it does not say. Pure.
std::optional<std::uint64_t> SocketsInUse(std::string_view text, std::string_view protocol);

}  // namespace native_runner
