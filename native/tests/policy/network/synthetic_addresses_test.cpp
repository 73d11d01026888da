#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policy/network/dns.h"
#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

HostName NameText(const std::string& text) {
  return ParseHostName(text).value();
}

std::string Given(SyntheticAddresses* addresses, const std::string& name) {
  const auto pair = addresses->Assign(NameText(name));
  return pair ? IpText(pair->v4) + " " + IpText(pair->v6) : "none";
}

std::string Whose(const SyntheticAddresses& addresses, const std::string& address) {
  const HostName* name = addresses.NameOf(*ParseIpAddress(address));
  return name != nullptr ? name->text() : "nobody";
}

TEST(SyntheticAddresses, AreGivenInOrderAndKept) {
  SyntheticAddresses addresses;
  EXPECT_EQ(Given(&addresses, "a.test"), "127.1.0.1 fd5b:910e:c73a::1");
  EXPECT_EQ(Given(&addresses, "b.test"), "127.1.0.2 fd5b:910e:c73a::2");
  EXPECT_EQ(Given(&addresses, "A.test."), "127.1.0.1 fd5b:910e:c73a::1");
  EXPECT_EQ(addresses.size(), 2U);
}

TEST(SyntheticAddresses, LeadBackToTheName) {
  SyntheticAddresses addresses;
  for (int i = 0; i < 300; ++i)
    (void)addresses.Assign(NameText("n" + std::to_string(i) + ".test"));
  EXPECT_EQ(Whose(addresses, "127.1.0.1"), "n0.test");
  EXPECT_EQ(Whose(addresses, "127.1.1.44"), "n299.test");
  EXPECT_EQ(Whose(addresses, "::ffff:127.1.1.44"), "n299.test");
  EXPECT_EQ(Whose(addresses, "fd5b:910e:c73a::12c"), "n299.test");
  for (const char* address :
       {"127.1.0.0", "127.1.1.45", "127.0.0.1", "127.2.0.1", "1.1.0.1", "::1",
        "fd5b:910e:c73a::", "fd5b:910e:c73a::12d", "fd5b:910e:c73b::1", "fd5b:910e:c73a::1:0:1"}) {
    EXPECT_EQ(Whose(addresses, address), "nobody") << address;
  }
}

TEST(SyntheticAddresses, AreBoundedAndNotReused) {
  const std::vector<HostName> known = {NameText("known.test")};
  SyntheticAddresses addresses(known, 2);
  EXPECT_NE(Given(&addresses, "x.test"), "none");
  EXPECT_EQ(Given(&addresses, "y.test"), "none");
  EXPECT_EQ(Given(&addresses, "known.test"), "127.1.0.1 fd5b:910e:c73a::1");
  EXPECT_NE(Given(&addresses, "x.test"), "none");
  EXPECT_EQ(Whose(addresses, "127.1.0.2"), "x.test");
}

TEST(SyntheticAddresses, HaveRoomForTheirMost) {
  SyntheticAddresses addresses({}, 1'000'000);
  for (int i = 0; i < 0xffff; ++i)
    ASSERT_TRUE(addresses.Assign(NameText("n" + std::to_string(i) + ".test")));
  EXPECT_EQ(Whose(addresses, "127.1.255.255"), "n65534.test");
  EXPECT_EQ(Given(&addresses, "more.test"), "none");
}

TEST(SyntheticAddresses, CanBeMoved) {
  SyntheticAddresses first;
  (void)first.Assign(NameText("a.test"));
  const SyntheticAddresses second = std::move(first);
  EXPECT_EQ(Whose(second, "127.1.0.1"), "a.test");
}

}  // namespace
}  // namespace native_runner
