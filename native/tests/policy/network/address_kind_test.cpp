#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

std::string KindOfText(std::string_view text) {
  const auto address = ParseIpAddress(text);
  return address ? AddressKindName(KindOf(*address)) : "none";
}

struct Range {
  const char* before;  // public, or "" where the range begins at the edge of another
  const char* first;
  const char* last;
  const char* after;
  const char* kind;
};

// Each range of the registries with both neighbours, so that a wrong length shows.
constexpr Range kRanges[] = {
    {"", "0.0.0.0", "0.255.255.255", "1.0.0.0", "unspecified"},
    {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private"},
    {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", "shared"},
    {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback"},
    {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", "link-local"},
    {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local"},
    {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private"},
    {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "protocol-assignments"},
    {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", "documentation"},
    {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", "6to4"},
    {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private"},
    {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "benchmarking"},
    {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", "documentation"},
    {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", "documentation"},
    {"223.255.255.255", "224.0.0.0", "239.255.255.255", "", "multicast"},
    {"", "240.0.0.0", "255.255.255.254", "", "reserved"},
    {"", "255.255.255.255", "255.255.255.255", "", "broadcast"},
    {"", "::", "::", "", "unspecified"},
    {"", "::1", "::1", "", "loopback"},
    {"", "::2", "::ffff:fffe", "", "ipv4-compatible"},
    {"", "::1:0:0", "::fffe:ffff:ffff", "", "reserved"},
    {"", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", "nat64-local"},
    {"", "64:ff9b:0:1::", "64:ff9b:0:ffff::", "", "reserved"},
    {"", "100::", "100::ffff:ffff:ffff:ffff", "", "discard-only"},
    {"", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "", "discard-only"},
    {"", "1fff:ffff::", "1fff:ffff::1", "2000::", "reserved"},
    {"", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "", "teredo"},
    {"", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "", "benchmarking"},
    {"", "2001:1::", "2001:1ff:ffff::", "2001:200::", "protocol-assignments"},
    {"2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::", "documentation"},
    {"2001:ffff::", "2002::", "2002:ffff::", "2003::", "6to4"},
    {"3ffe:ffff::", "3fff::", "3fff:fff:ffff::", "3fff:1000::", "documentation"},
    {"", "4000::", "5eff:ffff::", "", "reserved"},
    {"", "5f00::", "5f00:ffff::", "", "segment-routing"},
    {"", "fc00::", "fdff:ffff::", "", "unique-local"},
    {"", "fe80::", "febf:ffff::", "", "link-local"},
    {"", "fec0::", "feff:ffff::", "", "site-local"},
    {"", "ff00::", "ffff:ffff::", "", "multicast"},
};

TEST(AddressKind, FollowsTheRegistries) {
  for (const Range& range : kRanges) {
    EXPECT_EQ(KindOfText(range.first), range.kind) << range.first;
    EXPECT_EQ(KindOfText(range.last), range.kind) << range.last;
    for (const std::string neighbour : {range.before, range.after}) {
      if (neighbour.empty()) continue;
      EXPECT_EQ(KindOfText(neighbour), "public") << neighbour;
    }
  }
}

TEST(AddressKind, PublicOnesArePublic) {
  for (const char* text : {"1.1.1.1", "8.8.8.8", "192.31.196.1", "192.175.48.1", "104.16.0.35",
                           "2606:4700::6810:23", "2a00:1450:4001:81b::200e", "2620:4f:8000::1"}) {
    EXPECT_EQ(KindOfText(text), "public") << text;
  }
}

// Another way to say an IPv4 address does not change what it is.
TEST(AddressKind, LooksIntoIpv6) {
  EXPECT_EQ(KindOfText("::ffff:169.254.169.254"), "link-local");
  EXPECT_EQ(KindOfText("::ffff:1.1.1.1"), "public");
  EXPECT_EQ(KindOfText("64:ff9b::169.254.169.254"), "link-local");
  EXPECT_EQ(KindOfText("64:ff9b::1.1.1.1"), "public");
  EXPECT_EQ(KindOfText("::127.0.0.1"), "ipv4-compatible");
  EXPECT_EQ(KindOfText("2002:7f00:1::"), "6to4");
}

TEST(AddressKind, SomeCanNeverBeNamed) {
  EXPECT_FALSE(CanBeNamed(AddressKind::kUnspecified));
  EXPECT_FALSE(CanBeNamed(AddressKind::kMulticast));
  EXPECT_FALSE(CanBeNamed(AddressKind::kBroadcast));
  EXPECT_FALSE(CanBeNamed(AddressKind::kIpv4Compatible));
  EXPECT_TRUE(CanBeNamed(AddressKind::kLoopback));
  EXPECT_TRUE(CanBeNamed(AddressKind::kLinkLocal));
  EXPECT_FALSE(CanBeNamedByHost(AddressKind::kLinkLocal));
  EXPECT_TRUE(CanBeNamedByHost(AddressKind::kLoopback));
}

}  // namespace
}  // namespace native_runner
