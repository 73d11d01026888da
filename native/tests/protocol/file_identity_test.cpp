#include <gtest/gtest.h>

#include "protocol/identity.h"

namespace native_runner {
namespace {

TEST(TakeDecimal, TakesTheDigitsAndNoMore) {
  const char* at = "0123,4";
  std::uint64_t value = 0;
  ASSERT_TRUE(TakeDecimal(&at, &value));
  EXPECT_EQ(value, 123u);
  EXPECT_STREQ(at, ",4");
}

TEST(TakeDecimal, TakesNothingWhereThereIsNoNumber) {
  for (const char* text : {"", ",", "-1", "+1", " 1", "x", "18446744073709551616"}) {
    const char* at = text;
    std::uint64_t value = 77;
    EXPECT_FALSE(TakeDecimal(&at, &value)) << text;
    EXPECT_EQ(at, text);
    EXPECT_EQ(value, 77u);
  }
}

TEST(ParseIdentity, ReadsBothNumbersAndFindsThePath) {
  FileIdentity identity;
  EXPECT_STREQ(ParseIdentity("64769:2:/a:b c", &identity), "/a:b c");
  EXPECT_EQ(identity, (FileIdentity{64769, 2}));
  EXPECT_NE(identity, (FileIdentity{64769, 3}));
  EXPECT_NE(identity, (FileIdentity{64768, 2}));
}

TEST(ParseIdentity, RefusesAnyOtherText) {
  FileIdentity identity;
  for (const char* text : {"", "/a", "1", "1:", "1:2", "1:2:", "1:2:a", "1::/a", ":2:/a", "1:2/a",
                           "1 :2:/a", "1:-2:/a", "18446744073709551616:1:/a"}) {
    EXPECT_EQ(ParseIdentity(text, &identity), nullptr) << text;
  }
}

}  // namespace
}  // namespace native_runner
