#include <gtest/gtest.h>

#include <string>

#include "policy/text/text.h"

namespace native_runner {
namespace {

// Every number up to four bytes long, in the form that it has by RFC 3629.
TEST(Utf8Test, TakesEveryCharacter) {
  for (char32_t c = 1; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 61) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    const auto add = [&text](unsigned byte) { text += static_cast<char>(byte); };
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xC0U | c >> 6U);
      add(0x80U | (c & 0x3FU));
    } else if (c < 0x10000) {
      add(0xE0U | c >> 12U);
      add(0x80U | (c >> 6U & 0x3FU));
      add(0x80U | (c & 0x3FU));
    } else {
      add(0xF0U | c >> 18U);
      add(0x80U | (c >> 12U & 0x3FU));
      add(0x80U | (c >> 6U & 0x3FU));
      add(0x80U | (c & 0x3FU));
    }
    ASSERT_TRUE(IsUtf8(text)) << std::hex << static_cast<unsigned>(c);
    ASSERT_TRUE(IsUtf8("a" + text + "b"));
    if (text.size() == 1) continue;
    ASSERT_FALSE(IsUtf8(text.substr(0, text.size() - 1)));
  }
}

TEST(Utf8Test, RefusesWhatIsNone) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3\x28", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFF", "\xFE", "a\xFFz"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
  EXPECT_TRUE(IsUtf8(""));
}

}  // namespace
}  // namespace native_runner
