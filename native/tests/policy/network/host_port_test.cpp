#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/network_rules.h"

namespace native_runner {
namespace {

using Entries = std::vector<std::string>;

Result<NetworkRules> Read(const Entries& entries, const Entries& allow = {}) {
  return ReadNetworkRules({.allow = allow, .deny = {}, .allow_private = {}, .host_ports = entries});
}

std::string MessageOf(const Entries& entries, const Entries& allow = {}) {
  const auto rules = Read(entries, allow);
  return rules ? "" : rules.error().message;
}

TEST(HostPorts, AreReadInEveryFormAndSortedByPort) {
  auto rules =
      Read({"65535", "127.0.0.1:6379", "[::1]:5433", "1", "127.255.0.9:80", "6379"}, {"a.test:22"});
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  Entries texts;
  for (const HostPort& entry : rules->host_ports)
    texts.push_back(entry.text());
  EXPECT_EQ(texts, (Entries{"127.0.0.1:1", "127.255.0.9:80", "[::1]:5433", "127.0.0.1:6379",
                            "127.0.0.1:65535"}));
  EXPECT_EQ(PortsOf(*rules), (std::vector<std::uint16_t>{1, 22, 80, 5433, 6379, 65535}));
}

TEST(HostPorts, AreOfTheLoopbackAlone) {
  for (const char* entry : {"0.0.0.0:5432",
                            "10.0.0.1:5432",
                            "128.0.0.1:5432",
                            "126.255.255.255:5432",
                            "[::]:5432",
                            "[::2]:5432",
                            "[fe80::1]:5432",
                            "[::ffff:127.0.0.1]:5432",
                            "[::ffff:7f00:1]:5432",
                            "[::127.0.0.1]:5432",
                            "[64:ff9b::7f00:1]:5432",
                            "[::1%lo]:5432",
                            "[0:0:0:0:0:0:0:1]:5432",
                            "[127.0.0.1]:5432",
                            "::1:5432",
                            "127.1:5432",
                            "127.0.0.01:5432",
                            "0x7f000001:5432",
                            "2130706433:5432",
                            "0177.0.0.1:5432",
                            "127.0.0.1.:5432",
                            "127.0.0.1.nip.io:5432",
                            "localhost:5432",
                            "*.localhost:5432",
                            "*:5432",
                            ":5432",
                            "//127.0.0.1:5432",
                            "tcp://127.0.0.1:5432",
                            "127.0.0.1:5432/db",
                            "user@127.0.0.1:5432"}) {
    EXPECT_EQ(MessageOf({"5432", entry}),
              "Expected `network.hostPorts[1]` to be a port of the host's loopback, from 1 to "
              "65535: 5432, \"127.0.0.1:5432\" or \"[::1]:5432\", got \"" +
                  std::string(entry) + "\"");
  }
  EXPECT_EQ(MessageOf({"127.0.0.1:5432"}), "");
  EXPECT_EQ(MessageOf({"[::1]:5432"}), "");
}

TEST(HostPorts, HaveAPortInItsRange) {
  for (const char* entry :
       {"",         "0",         "-1",        "+1",         "65536",       "4294972728",
        "05432",    "5432 ",     " 5432",     "5432.0",     "5e3",         "NaN",
        "Infinity", "5432,6379", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
        "[::1]",    "[::1]:",    "[::1",      "localhost"}) {
    EXPECT_NE(MessageOf({entry}).find("Expected `network.hostPorts[0]` to be a port"),
              std::string::npos)
        << entry;
  }
}

TEST(HostPorts, AreNotThoseOfTheSandbox) {
  for (const char* entry : {"53", "3128", "127.0.0.2:53", "[::1]:3128"}) {
    EXPECT_NE(MessageOf({entry}).find("to be another port than 53 and 3128"), std::string::npos)
        << entry;
  }
}

TEST(HostPorts, HaveOneAddressEach) {
  EXPECT_EQ(MessageOf({"[::1]:80", "5432", "80"}),
            "Expected `network.hostPorts` to have one address for each port, got 127.0.0.1:80 and "
            "[::1]:80");
  EXPECT_EQ(MessageOf({"80", "127.0.0.1:80", "80"}), "");
}

TEST(HostPorts, AreBoundedTogetherWithThoseOfAllow) {
  Entries most;
  for (int port = 10001; port <= 10000 + static_cast<int>(kMostPorts); ++port)
    most.push_back(std::to_string(port));
  EXPECT_EQ(MessageOf(most), "");
  EXPECT_EQ(MessageOf(most, {"a.test:10001"}), "");
  EXPECT_EQ(MessageOf(most, {"a.test:10000"}),
            "Expected `network.allow` and `network.hostPorts` to name at most 64 ports, got 65");
}

TEST(HostPorts, ThatLeadAlikeHaveTheSameHash) {
  const auto text = [](const Entries& entries) { return NetworkRulesText(*Read(entries)); };
  EXPECT_EQ(text({"80", "[::1]:443"}), text({"[::1]:443", "127.0.0.1:80", "80"}));
  EXPECT_EQ(text({"80", "[::1]:443"}), "hostPort 127.0.0.1:80\nhostPort [::1]:443\n");
  EXPECT_NE(text({"80"}), text({"127.0.0.2:80"}));
  EXPECT_EQ(text({}), "");
}

}  // namespace
}  // namespace native_runner
