#include <gtest/gtest.h>

#include <string>

#include "policy/network/host_name.h"

namespace native_runner {
namespace {

// RFC 3492 7.1, and names that are met.
TEST(Punycode, GoesBothWays) {
  const std::pair<std::u32string, const char*> known[] = {
      {U"b\u00fccher", "bcher-kva"},
      {U"m\u00fcnchen", "mnchen-3ya"},
      {U"\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587", "ihqwcrb4cv8a8dqg056pqjye"},
      {U"3\u5e74B\u7d44\u91d1\u516b\u5148\u751f", "3b-ww4c5e180e575a65lsy2b"},
      {U"\u30d1\u30d5\u30a3\u30fcde\u30eb\u30f3\u30d0", "de-jg4avhby1noc0d"},
      {U"\U0001f4a9", "ls8h"},
      {U"abc", "abc-"},
      {U"", ""},
  };
  for (const auto& [points, text] : known) {
    EXPECT_EQ(EncodePunycode(points), text);
    std::u32string lowered = points;
    for (char32_t& point : lowered)
      if (point == U'B') point = U'b';
    EXPECT_EQ(DecodePunycode(text), lowered) << text;
  }
}

TEST(Punycode, RefusesWhatIsNone) {
  for (const char* text :
       {"bcher-kv", "a-99999999", "99999999999999999", "kva.", "zzzzzzzzzzzzzzzzzzzzzzzzzz"}) {
    EXPECT_EQ(DecodePunycode(text), std::nullopt) << text;
  }
  std::u32string surrogate(1, static_cast<char32_t>(0xd800));
  EXPECT_EQ(DecodePunycode(EncodePunycode(surrogate)), std::nullopt);
}

TEST(Punycode, KnowsTheOneALabel) {
  EXPECT_TRUE(IsALabel("xn--bcher-kva"));
  EXPECT_TRUE(IsALabel("xn--ls8h"));
  for (const char* label : {"xn--", "xn---", "xn--abc-", "bcher-kva", "xn--bcher-kva1",
                            "xn--bcher-kv", "xn--BCHER-kva"}) {
    EXPECT_FALSE(IsALabel(label)) << label;
  }
}

}  // namespace
}  // namespace native_runner
