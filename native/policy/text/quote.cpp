#include "policy/text/quote.h"

#include <cstddef>

namespace native_runner {
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

}  // namespace native_runner
