#include <gtest/gtest.h>

#include <string>

#include "policy/network/network_rules.h"

namespace native_runner {
namespace {

bool MayStay(const std::string& text) {
  auto rules = ReadNetworkRules({{"a.test", "*.b.test:22"}, {"c.test"}, {}, true});
  EXPECT_TRUE(rules);
  return NamesOnlyLoopback(text, *rules);
}

TEST(NamesOnlyLoopback, OfWhatMostMachinesHave) {
  const std::string local = "127.0.0.1\tlocalhost\n";
  for (const std::string& rest :
       {std::string(), std::string("127.0.1.1 vm.example vm\n"),
        std::string("# 10.0.0.1 a.test\n\n   \n::1 localhost ip6-localhost # a.test\n"),
        std::string("ff02::1 ip6-allnodes\nff02::2 ip6-allrouters\nfe00::0 ip6-localnet\r\n"),
        std::string("127.0.0.1 b.test c.test xa.test a.test.x in_valid..name"),
        std::string("127.0.0.1")})
    EXPECT_TRUE(MayStay(local + rest)) << rest;
}

TEST(NamesOnlyLoopback, NotWhatLeadsElsewhereOrIsAllowed) {
  const std::string local = "127.0.0.1 localhost\n";
  for (const std::string& rest :
       {std::string("10.0.0.1 x.test"), std::string("127.1.0.1 x"), std::string("127.0.0.1 a.test"),
        std::string("127.0.0.1 x A.TEST."), std::string("::1 y.b.test"), std::string("::2 x"),
        std::string("0.0.0.0 x"), std::string("::ffff:10.0.0.1 x"), std::string("fd00::1 x"),
        std::string("fe80::1 x"), std::string("127.1 x"), std::string("localhost 127.0.0.1"),
        std::string("x")})
    EXPECT_FALSE(MayStay(local + rest)) << rest;
  for (const std::string& whole :
       {std::string(), std::string("127.0.0.1 vm\n"), std::string("::1 localhost\n"),
        std::string("#127.0.0.1 localhost")})
    EXPECT_FALSE(MayStay(whole)) << whole;
}

}  // namespace
}  // namespace native_runner
