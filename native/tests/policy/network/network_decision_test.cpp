#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/ip_address.h"
#include "policy/network/network_rules.h"

namespace native_runner {
namespace {

NetworkRules Rules(const NetworkRuleTexts& texts) {
  return ReadNetworkRules(texts).value();
}

const NetworkRules kRules = Rules({
    .allow = {"a.test", "*.wide.test", "ssh.test:22", "*.deep.test:8443"},
    .deny = {"bad.wide.test", "*.evil.wide.test", "half.wide.test:80"},
    .allow_private = {"a.test", "10.0.0.0/8", "169.254.169.254"},
});

std::string Said(const Decision& decision) {
  const char* verdict = decision.verdict == Verdict::kAllowed  ? "allowed"
                        : decision.verdict == Verdict::kDenied ? "denied"
                                                               : "undecided";
  return std::string(verdict) + ": " + VerdictReasonText(decision.reason) +
         (decision.rule.empty() ? "" : " (" + decision.rule + ")");
}

std::string Connection(std::string_view host, std::uint16_t port) {
  return Said(DecideConnection(kRules, ParseHost(host).value(), port));
}

std::string Name(std::string_view name) {
  return Said(DecideName(kRules, ParseHostName(name).value()));
}

std::string Address(std::string_view name, std::string_view address, bool is_own = false) {
  const IpAddress led_to = ParseIpAddress(address).value();
  return Said(DecideAddress(kRules, ParseHostName(name).value(), led_to, is_own));
}

TEST(Decision, AllowsWhatARuleNames) {
  EXPECT_EQ(Connection("a.test", 443), "allowed: a rule allows it (a.test)");
  EXPECT_EQ(Connection("A.TEST.", 80), "allowed: a rule allows it (a.test)");
  EXPECT_EQ(Connection("x.y.wide.test", 443), "allowed: a rule allows it (*.wide.test)");
  EXPECT_EQ(Connection("ssh.test", 22), "allowed: a rule allows it (ssh.test:22)");
  EXPECT_EQ(Connection("x.deep.test", 8443), "allowed: a rule allows it (*.deep.test:8443)");
}

TEST(Decision, LeavesOpenWhatNoRuleNames) {
  EXPECT_EQ(Connection("b.test", 443), "undecided: no rule names it");
  EXPECT_EQ(Connection("wide.test", 443), "undecided: no rule names it");
  EXPECT_EQ(Connection("notwide.test", 443), "undecided: no rule names it");
  EXPECT_EQ(Connection("sub.a.test", 443), "undecided: no rule names it");
  EXPECT_EQ(Connection("a.test.evil.test", 443), "undecided: no rule names it");
  EXPECT_EQ(Connection("a.test", 22), "undecided: no rule names its port");
  EXPECT_EQ(Connection("ssh.test", 443), "undecided: no rule names its port");
}

TEST(Decision, DenyBeatsAllow) {
  EXPECT_EQ(Connection("bad.wide.test", 443), "denied: a rule denies it (bad.wide.test)");
  EXPECT_EQ(Connection("x.evil.wide.test", 80), "denied: a rule denies it (*.evil.wide.test)");
  EXPECT_EQ(Connection("evil.wide.test", 80), "allowed: a rule allows it (*.wide.test)");
  EXPECT_EQ(Connection("half.wide.test", 80), "denied: a rule denies it (half.wide.test:80)");
  EXPECT_EQ(Connection("half.wide.test", 443), "allowed: a rule allows it (*.wide.test)");
  // An entry without a port denies the host on every port.
  EXPECT_EQ(Connection("bad.wide.test", 22), "denied: a rule denies it (bad.wide.test)");
}

TEST(Decision, NoRuleNamesAnAddress) {
  for (const char* host : {"10.0.0.1", "1.1.1.1", "0x7f.1", "[::1]", "::ffff:10.0.0.1"}) {
    EXPECT_EQ(Connection(host, 443), "denied: it is an address, not a name") << host;
  }
}

TEST(Decision, NamesAreResolvedThatSomePortAllows) {
  EXPECT_EQ(Name("a.test"), "allowed: a rule allows it (a.test)");
  EXPECT_EQ(Name("ssh.test"), "allowed: a rule allows it (ssh.test:22)");
  EXPECT_EQ(Name("half.wide.test"), "allowed: a rule allows it (*.wide.test)");
  EXPECT_EQ(Name("bad.wide.test"), "denied: a rule denies it (bad.wide.test)");
  EXPECT_EQ(Name("b.test"), "undecided: no rule names it");
}

TEST(Decision, NamesLeadToPublicAddresses) {
  EXPECT_EQ(Address("b.test", "1.1.1.1"), "allowed: it leads to a public address");
  EXPECT_EQ(Address("b.test", "2606:4700::1"), "allowed: it leads to a public address");
  for (const char* address : {"127.0.0.1", "192.168.0.1", "::1", "fd00::1", "169.254.1.1",
                              "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "224.0.0.1"}) {
    EXPECT_EQ(Address("b.test", address), "denied: it leads to an address that is not public")
        << address;
  }
}

TEST(Decision, TheHostsOwnAddressesAreNotPublic) {
  EXPECT_EQ(Address("b.test", "1.1.1.1", true), "denied: it leads to this machine");
  EXPECT_EQ(Address("b.test", "2606:4700::1", true), "denied: it leads to this machine");
  EXPECT_EQ(Address("a.test", "1.1.1.1", true),
            "allowed: a rule allows the address that it leads to (a.test)");
}

TEST(Decision, OrWhereAPrivateRuleSays) {
  EXPECT_EQ(Address("a.test", "127.0.0.1"),
            "allowed: a rule allows the address that it leads to (a.test)");
  EXPECT_EQ(Address("b.test", "10.1.2.3"),
            "allowed: a rule allows the address that it leads to (10.0.0.0/8)");
  EXPECT_EQ(Address("b.test", "169.254.169.254"),
            "allowed: a rule allows the address that it leads to (169.254.169.254)");
  // A named host does not lead to credentials of the machine, and no rule leads to an address that
  // belongs to no host.
  EXPECT_EQ(Address("a.test", "169.254.169.253"),
            "denied: it leads to an address that is not public");
  const NetworkRules all = Rules({.allow = {}, .deny = {}, .allow_private = {"0.0.0.0/0", "::/0"}});
  const auto decide = [&all](std::string_view address) {
    return DecideAddress(all, ParseHostName("a.test").value(), *ParseIpAddress(address)).verdict;
  };
  EXPECT_EQ(decide("127.0.0.1"), Verdict::kAllowed);
  EXPECT_EQ(decide("::1"), Verdict::kAllowed);
  EXPECT_EQ(decide("0.0.0.0"), Verdict::kDenied);
  EXPECT_EQ(decide("::"), Verdict::kDenied);
  EXPECT_EQ(decide("255.255.255.255"), Verdict::kDenied);
  EXPECT_EQ(decide("ff02::1"), Verdict::kDenied);
}

}  // namespace
}  // namespace native_runner
