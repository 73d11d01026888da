#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace native_runner {

// What <cctype> does, without its locale: protocols are ASCII whatever the host speaks. Pure.
constexpr bool IsAsciiDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool IsAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// 0 to 15; -1 for what is no hexadecimal digit.
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

// Whether it is UTF-8 by RFC 3629: no surrogates, no longer form than is needed.
bool IsUtf8(std::string_view text);

// `value` in double quotes for a message or a line of text: quotes, backslashes and control
// characters are escaped as in JSON, so that the result is one line and tells equal from unequal.
std::string Quoted(std::string_view value);

// The same, cut after about 200 bytes (never inside a UTF-8 sequence), for error messages.
std::string QuotedShort(std::string_view value);

}  // namespace native_runner
