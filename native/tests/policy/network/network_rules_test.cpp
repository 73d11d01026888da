#include "policy/network/network_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace native_runner {
namespace {

std::string Message(const NetworkRuleTexts& texts) {
  const auto rules = ReadNetworkRules(texts);
  return rules ? "" : rules.error().message;
}

std::string AllowMessage(const std::string& entry) {
  return Message({.allow = {"fine.test", entry}, .deny = {}, .allow_private = {}});
}

std::string PrivateMessage(const std::string& entry) {
  return Message({.allow = {}, .deny = {}, .allow_private = {entry}});
}

TEST(NetworkRules, AreReadInEveryForm) {
  const auto rules = ReadNetworkRules({
      .allow = {"Registry.NPMjs.org.", "a.test:8443", "*.b.test", "*.C.test:22"},
      .deny = {"bad.b.test"},
      .allow_private = {"db.internal", "*.lan.test", "10.0.0.0/8", "fd00::1", "192.168.1.1"},
  });
  ASSERT_TRUE(rules.ok());
  std::vector<std::string> allow;
  for (const HostRule& rule : rules.value().allow)
    allow.push_back(rule.text());
  EXPECT_EQ(allow, (std::vector<std::string>{"registry.npmjs.org", "a.test:8443", "*.b.test",
                                             "*.c.test:22"}));
  EXPECT_EQ(rules.value().deny.at(0).text(), "bad.b.test");
  EXPECT_EQ(rules.value().allow_private.at(2).text(), "10.0.0.0/8");
}

TEST(NetworkRules, NameFieldExpectedAndGot) {
  EXPECT_EQ(AllowMessage("a..b"),
            "Expected `network.allow[1]` to be a host name without an empty label, got \"a..b\"");
  EXPECT_EQ(Message({.allow = {}, .deny = {"a:0"}, .allow_private = {}}),
            "Expected `network.deny[0]` to be a host with a port from 1 to 65535, got \"a:0\"");
  EXPECT_EQ(PrivateMessage("10.0.0.5/8"),
            "Expected `network.allowPrivate[0]` to be a block whose host bits are 0, such as "
            "\"10.0.0.0/8\", got \"10.0.0.5/8\"");
}

TEST(NetworkRules, HaveNoOtherForm) {
  for (const char* entry : {"",
                            "*",
                            "*.",
                            "*.*.test",
                            "a.*.test",
                            "a*.test",
                            "*a.test",
                            "**.test",
                            "a.test:*",
                            "*:443",
                            "a.test:",
                            "a.test:0",
                            "a.test:65536",
                            "a.test:80,443",
                            "a.test:80-90",
                            "https://a.test",
                            "a.test/path",
                            "a.test:443/",
                            "user@a.test",
                            "a b.test",
                            " a.test",
                            "a.test ",
                            "a.test\n",
                            "a%2etest",
                            "-a.test",
                            "b\xc3\xbc"
                            "cher.test",
                            "xn--abc-.test",
                            "a.test:443:1",
                            "!a.test",
                            "a.test#x"}) {
    EXPECT_NE(AllowMessage(entry), "") << entry;
  }
  EXPECT_NE(AllowMessage(std::string("a.test\0", 7)), "");
  EXPECT_EQ(AllowMessage("a.test"), "");
}

TEST(NetworkRules, HaveNoAddressAmongHosts) {
  for (const char* entry : {"10.0.0.1", "10.0.0.1:80", "0x7f.1", "127.1", "[::1]", "[::1]:80",
                            "::1", "*.10.0.0.1", "2130706433", "10.0.0.0/8", "1.2.3.4.5"}) {
    EXPECT_NE(AllowMessage(entry), "") << entry;
  }
  EXPECT_NE(AllowMessage("10.0.0.1").find("allowPrivate"), std::string::npos);
}

TEST(NetworkRules, PrivateOnesAreHostsOrBlocks) {
  for (const char* entry :
       {"10.0.0.0/33", "10.0.0.0/08", "0x7f.1", "127.1", "010.0.0.0/8", "[::1]", "fe80::1%lo",
        "10.0.0.1:80", "db.internal:5432", "::/129", "db.internal/8", "*", "", "fd00::1/8"}) {
    EXPECT_NE(PrivateMessage(entry), "") << entry;
  }
  EXPECT_EQ(PrivateMessage("fd00::/8"), "");
}

TEST(NetworkRules, AreBoundedInNumber) {
  NetworkRuleTexts texts;
  texts.allow.assign(kMostRules, "a.test");
  EXPECT_EQ(Message(texts), "");
  texts.allow.emplace_back("a.test");
  EXPECT_EQ(Message(texts), "Expected `network.allow` to have at most 1024 entries, got 1025");
  texts.allow.clear();
  for (std::size_t i = 0; i < kMostPorts; ++i)
    texts.allow.push_back("a.test:" + std::to_string(1000 + i));
  EXPECT_EQ(Message(texts), "");
  texts.allow.emplace_back("b.test:22");
  EXPECT_EQ(Message(texts), "Expected `network.allow` to name at most 64 ports, got 65");
}

TEST(NetworkRules, KnowTheirPorts) {
  const auto ports = [](std::vector<std::string> allow, bool asks) {
    return PortsOf(
        ReadNetworkRules(
            {.allow = std::move(allow), .deny = {"x.test:99"}, .allow_private = {}, .asks = asks})
            .value());
  };
  using Ports = std::vector<std::uint16_t>;
  EXPECT_EQ(ports({}, false), Ports{});
  EXPECT_EQ(ports({}, true), (Ports{80, 443}));
  EXPECT_EQ(ports({"a.test:22"}, false), Ports{22});
  EXPECT_EQ(ports({"a.test:8080", "b.test:22", "c.test", "d.test:443"}, false),
            (Ports{22, 80, 443, 8080}));
}

TEST(NetworkRules, HaveOneTextForWhatDecidesAlike) {
  const auto text = [](NetworkRuleTexts texts) {
    return NetworkRulesText(ReadNetworkRules(texts).value());
  };
  EXPECT_EQ(text({.allow = {"B.test:22", "a.test."},
                  .deny = {"c.a.test"},
                  .allow_private = {"::1"},
                  .asks = true}),
            "allow a.test:443\nallow a.test:80\nallow b.test:22\nallowPrivate ::1\nasks\n"
            "deny c.a.test\n");
  EXPECT_EQ(
      text({.allow = {"a.test"}, .deny = {}, .allow_private = {}}),
      text({.allow = {"a.test:443", "a.test:80", "a.test"}, .deny = {}, .allow_private = {}}));
  EXPECT_NE(text({.allow = {}, .deny = {"a.test"}, .allow_private = {}}),
            text({.allow = {}, .deny = {"a.test:80", "a.test:443"}, .allow_private = {}}));
}

TlsTermination TerminationOf(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& plain) {
  TlsTermination made;
  for (const std::string& host : hosts)
    made.hosts.push_back(ReadHostRule(host, "hosts").value());
  for (const std::string& host : plain)
    made.plain.push_back(ReadHostRule(host, "plain").value());
  return made;
}

TEST(TlsTermination, IsOfItsHostsAndPorts) {
  const TlsTermination made = TerminationOf({"a.test:443", "*.b.test:8443"}, {"a.test:80"});
  const auto name = [](const char* text) { return ParseHostName(text).value(); };
  EXPECT_TRUE(made.Covers(name("A.test"), 443));
  EXPECT_FALSE(made.Covers(name("a.test"), 8443));
  EXPECT_FALSE(made.Covers(name("x.a.test"), 443));
  EXPECT_TRUE(made.Covers(name("x.b.test"), 8443));
  EXPECT_FALSE(made.Covers(name("b.test"), 8443));
  EXPECT_TRUE(made.RefusesPlain(name("a.test"), 80));
  EXPECT_FALSE(made.RefusesPlain(name("a.test"), 443));
  EXPECT_FALSE(made.RefusesPlain(name("x.b.test"), 80));
}

TEST(TlsTermination, IsPartOfThePolicysText) {
  NetworkPolicy policy{
      .rules =
          ReadNetworkRules({.allow = {"a.test:443"}, .deny = {}, .allow_private = {}}).value()};
  EXPECT_EQ(NetworkPolicyText(policy), "allow a.test:443\n");
  EXPECT_FALSE(policy.EndsTls(ParseHostName("a.test").value(), 443));
  auto made = TerminationOf({"a.test:443"}, {});
  made.texts = {"secret TOKEN placeholder [\"a.test:443\"]"};
  policy.termination = std::make_shared<const TlsTermination>(std::move(made));
  EXPECT_EQ(NetworkPolicyText(policy),
            "allow a.test:443\nsecret TOKEN placeholder [\"a.test:443\"]\n");
  EXPECT_TRUE(policy.EndsTls(ParseHostName("a.test").value(), 443));
}

}  // namespace
}  // namespace native_runner
