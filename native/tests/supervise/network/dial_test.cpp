#include <gtest/gtest.h>

#include <string>

#include "policy/network/address/ip_parse.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

// What the proxy answers, and the record.
std::string StatusOf(NetworkHost* network, const std::string& whom) {
  Peer client("127.0.0.1", network->proxy_port());
  client.Send("CONNECT " + whom + " HTTP/1.1\r\n\r\n");
  return client.ReadTo("\r\n\r\n").bytes.substr(9, 3);
}

TEST(Dial, TriesTheOtherAddressesAtOnceWhenOneRefuses) {
  TestServer server(Echo);
  NetworkHost network(
      Allowing({At("a.test", server.port())}, {"127.0.0.2", "::1", "127.0.0.3", "127.0.0.1"}));
  EXPECT_EQ(StatusOf(&network, At("a.test", server.port())), "200");
  EXPECT_EQ(network.Leave().connections.at(0).address, "127.0.0.1");
}

TEST(Dial, DoesNotWaitForAnAddressThatDoesNotAnswer) {
  TestServer server(Echo);
  const std::uint16_t port = server.port();
  const FullListener full("127.0.0.2", port);
  NetworkHost network(Allowing({At("a.test", port)}, {"127.0.0.2", "127.0.0.1"}));
  EXPECT_EQ(StatusOf(&network, At("a.test", port)), "200");
  EXPECT_EQ(network.Leave().connections.at(0).address, "127.0.0.1");
}

TEST(Dial, ConnectsByIpv6) {
  const Descriptor probe(socket(AF_INET6, SOCK_STREAM, 0));
  const SocketAddress at({.address = *ParseIpAddress("::1"), .port = 0});
  if (!probe.valid() || bind(probe.get(), at.get(), at.size) != 0) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  TestServer server(Echo, "::1");
  NetworkHost network(Allowing({At("a.test", server.port())}, {"::1"}));
  EXPECT_EQ(StatusOf(&network, At("a.test", server.port())), "200");
  EXPECT_EQ(network.Leave().connections.at(0).address, "::1");
}

TEST(Dial, LeavesOutAddressesThatAreNotPermitted) {
  TestServer server(Echo, "127.0.0.5");
  const std::string a = At("a.test", server.port());
  for (const bool is_permitted : {true, false}) {
    auto setup = Allowing({a}, {"169.254.169.254", "10.0.0.1", "127.0.0.5"});
    setup.rules.allow_private = {is_permitted ? "127.0.0.5" : "127.0.0.6"};
    NetworkHost network(std::move(setup));
    EXPECT_EQ(StatusOf(&network, a), is_permitted ? "200" : "403");
    const ConnectionLog log = network.Leave();
    EXPECT_EQ(log.connections.at(0).allowed, is_permitted);
    EXPECT_EQ(log.connections.at(0).address, is_permitted ? "127.0.0.5" : "169.254.169.254");
  }
  EXPECT_TRUE(server.HasAccepted(1));
}

TEST(Dial, GivesUpAfterItsTime) {
  auto setup = Allowing({"far.test:81"});
  setup.rules.allow_private = {"127.0.0.2"};
  setup.options.connect_ms = 100;
  const FullListener full("127.0.0.2", 0);
  const std::uint16_t port = full.port();
  setup.rules.allow = {At("far.test", port)};
  setup.options.hosts["far.test"] = {IpAddress::V4(0x7f000002)};
  NetworkHost network(std::move(setup));
  EXPECT_EQ(StatusOf(&network, At("far.test", port)), "504");
  EXPECT_EQ(network.Leave().connections.at(0).reason, "it did not answer in time");
}

}  // namespace
}  // namespace native_runner
