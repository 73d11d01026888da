#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

std::string Normal(std::string_view text) {
  const auto block = ParseCidr(text);
  return block ? CidrText(*block) : "none";
}

bool Holds(std::string_view block, std::string_view address) {
  return ParseCidr(block)->Contains(*ParseIpAddress(address));
}

TEST(Cidr, IsReadAndWritten) {
  EXPECT_EQ(Normal("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(Normal("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(Normal("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(Normal("10.1.2.3/32"), "10.1.2.3");
  EXPECT_EQ(Normal("FD00:0::/8"), "fd00::/8");
  EXPECT_EQ(Normal("::1/128"), "::1");
  EXPECT_EQ(Normal("::/0"), "::/0");
  EXPECT_EQ(Normal("::ffff:10.0.0.0/104"), "10.0.0.0/8");
}

TEST(Cidr, IsStrict) {
  for (const char* text : {"",
                           "/",
                           "/8",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/08",
                           "10.0.0.0/+8",
                           "10.0.0.0/8/8",
                           "10.0.0.0/8 ",
                           "10.0.0.5/8",
                           "10/8",
                           "10.0.0/24",
                           "0x0a000000/8",
                           "010.0.0.0/8",
                           "::/129",
                           "fd00::1/8",
                           "[fd00::]/8",
                           "fe80::%lo/10",
                           "::ffff:10.0.0.0/8",
                           "::ffff:0.0.0.0/95",
                           "example.com/8",
                           "10.0.0.0/4294967304"}) {
    EXPECT_EQ(Normal(text), "none") << text;
  }
}

TEST(Cidr, HoldsItsAddresses) {
  EXPECT_TRUE(Holds("172.16.0.0/12", "172.16.0.0"));
  EXPECT_TRUE(Holds("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(Holds("172.16.0.0/12", "172.32.0.0"));
  EXPECT_FALSE(Holds("172.16.0.0/12", "172.15.255.255"));
  EXPECT_TRUE(Holds("10.0.0.0/8", "::ffff:10.1.1.1"));
  EXPECT_TRUE(Holds("0.0.0.0/0", "255.255.255.255"));
  EXPECT_FALSE(Holds("0.0.0.0/0", "::1"));
  EXPECT_FALSE(Holds("::/0", "1.2.3.4"));
  EXPECT_TRUE(Holds("fd00::/9", "fd7f:ffff::"));
  EXPECT_FALSE(Holds("fd00::/9", "fd80::"));
  EXPECT_FALSE(Holds("::1", "::2"));
}

}  // namespace
}  // namespace native_runner
