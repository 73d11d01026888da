#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

std::string Parsed(std::string_view text) {
  const auto address = ParseIpAddress(text);
  return address ? IpText(*address) : "none";
}

std::string PlainParsed(std::string_view text) {
  const auto address = ParsePlainIpAddress(text);
  return address ? IpText(*address) : "none";
}

TEST(IpParse, ReadsEverySpellingOfLoopback) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1",
        "017700000001", "0177.0.0.1", "0x7f.0x0.0x0.0x1", "0x7f.0.0.01", "00000177.1",
        "::ffff:127.0.0.1", "::ffff:7f00:1", "::FFFF:7F00:0001", "0:0:0:0:0:ffff:127.0.0.1",
        "[::ffff:127.0.0.1]", "::ffff:127.0.0.1%lo", "[::ffff:7f00:1%25lo]"}) {
    EXPECT_EQ(Parsed(text), "127.0.0.1") << text;
  }
}

TEST(IpParse, RefusesWhatNoProgramTakes) {
  for (const char* text :
       {"",          ".",         "..",         "a",          "256.1.1.1",   "1.2.3.4.5",
        "1.2.3.256", "1.2.65536", "1.16777216", "4294967296", "0x100000000", "99999999999999999999",
        "08",        "1.2.3.09",  "1..2",       ".1.2.3",     "1.2.3.4..",   "1.2.3.4 ",
        " 1.2.3.4",  "+1.2.3.4",  "-1",         "1.2.3.4a",   "0xg",         "1.2.3.4/8",
        "[1.2.3.4]", "1.2.3.4%lo"}) {
    EXPECT_EQ(Parsed(text), "none") << text;
  }
  EXPECT_EQ(Parsed(std::string_view("127.0.0.1\0", 10)), "none");
  EXPECT_EQ(Parsed(std::string(300, '0')), "none");
}

TEST(IpParse, ReadsIpv6) {
  EXPECT_EQ(Parsed("::"), "::");
  EXPECT_EQ(Parsed("::1"), "::1");
  EXPECT_EQ(Parsed("1::"), "1::");
  EXPECT_EQ(Parsed("[2001:DB8::00a1]"), "2001:db8::a1");
  EXPECT_EQ(Parsed("1:2:3:4:5:6:7:8"), "1:2:3:4:5:6:7:8");
  EXPECT_EQ(Parsed("1:2:3:4:5:6:1.2.3.4"), "1:2:3:4:5:6:102:304");
  EXPECT_EQ(Parsed("::1.2.3.4"), "::102:304");
  EXPECT_EQ(Parsed("64:ff9b::10.0.0.1"), "64:ff9b::a00:1");
  EXPECT_EQ(Parsed("fe80::1%eth0"), "fe80::1");
  for (const char* text :
       {":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", ":1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8:", "1:2:3:4:5:6:7::8", "12345::", "g::", "::1.2.3", "::1.2.3.04",
        "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4", "::1%", "[::1", "::1]", "[[::1]]", "::1 "}) {
    EXPECT_EQ(Parsed(text), "none") << text;
  }
}

// RFC 5952 4: lower case, no leading zeros, the longest run of zeros, of equal ones the first.
TEST(IpParse, WritesOneSpelling) {
  EXPECT_EQ(Parsed("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
  EXPECT_EQ(Parsed("2001:0:0:1:0:0:0:1"), "2001:0:0:1::1");
  EXPECT_EQ(Parsed("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(Parsed("0:1::"), "0:1::");
}

TEST(IpParse, PlainIsWhatPeopleWrite) {
  EXPECT_EQ(PlainParsed("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(PlainParsed("FE80::1"), "fe80::1");
  EXPECT_EQ(PlainParsed("::ffff:10.0.0.1"), "10.0.0.1");
  for (const char* text : {"10.1", "010.0.0.1", "0x7f000001", "2130706433", "10.0.0.1.", "[::1]",
                           "fe80::1%lo", "", "example"}) {
    EXPECT_EQ(PlainParsed(text), "none") << text;
  }
}

TEST(IpParse, KnowsWhatEndsInANumber) {
  for (const char* text : {"1", "1.", "a.1", "a.0x1f", "a.0x", "1.2.3.4.5", "08", "a.0X1F."}) {
    EXPECT_TRUE(EndsInNumber(text)) << text;
  }
  for (const char* text : {"", ".", "a", "1.a", "a.1a", "a.0xg", "a1"}) {
    EXPECT_FALSE(EndsInNumber(text)) << text;
  }
}

}  // namespace
}  // namespace native_runner
