#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

// Rules that name no host of the tests, and ask.
NetworkHost::Setup Asking() {
  NetworkHost::Setup setup = Allowing({"c.test:1"});
  setup.rules.asks = true;
  return setup;
}

std::string ConnectTo(const std::string& whom) {
  return "CONNECT " + whom + " HTTP/1.1\r\n\r\n";
}

TEST(Questions, AnAnswerDecides) {
  for (const NetworkAnswer answer :
       {NetworkAnswer::kAllow, NetworkAnswer::kDeny, NetworkAnswer::kNone}) {
    TestServer server(Echo);
    const std::string a = At("a.test", server.port());
    NetworkHost network(Asking());
    Peer client("127.0.0.1", network.proxy_port());
    client.Send(ConnectTo(a));
    ASSERT_TRUE(network.WaitUntil([&] { return network.questions().open() == 1; }));
    EXPECT_TRUE(server.HasAccepted(0));
    const NetworkQuestion question = network.questions().asked().at(0);
    EXPECT_EQ(At(question.host, question.port), a);
    EXPECT_EQ(question.via, ConnectionVia::kConnect);
    EXPECT_EQ(question.argv, (std::vector<std::string>{"prog", "arg"}));
    network.On([&] { network.questions().Answer(answer); });
    const bool allowed = answer == NetworkAnswer::kAllow;
    EXPECT_EQ(client.ReadTo("\r\n\r\n").bytes.substr(9, 3), allowed ? "200" : "403");
    client.Close();
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_EQ(log.connections[0].allowed, allowed);
    EXPECT_EQ(log.connections[0].rule, "onRequest");
    EXPECT_TRUE(server.HasAccepted(allowed ? 1 : 0));
  }
}

TEST(Questions, AreAskedOnceForThoseAlikeThatWait) {
  TestServer server(Echo);
  NetworkHost network(Asking());
  const std::string a = At("a.test", server.port());
  Peer one("127.0.0.1", network.proxy_port());
  Peer two("127.0.0.1", network.proxy_port());
  Peer other("127.0.0.1", network.proxy_port());
  one.Send(ConnectTo(a));
  two.Send(ConnectTo(a));
  other.Send(ConnectTo(At("b.test", server.port())));
  ASSERT_TRUE(network.WaitUntil([&] { return network.questions().open() == 2; }));
  ASSERT_EQ(network.size(), 3U);
  network.On([&] { network.questions().Answer(NetworkAnswer::kAllow); });
  for (Peer* client : {&one, &two, &other})
    EXPECT_EQ(client->ReadTo("\r\n\r\n").bytes.substr(9, 3), "200");
  Peer later("127.0.0.1", network.proxy_port());
  later.Send(ConnectTo(a));
  EXPECT_TRUE(network.WaitUntil([&] { return network.questions().asked().size() == 3; }));
}

TEST(Questions, OfOneSandboxAreBounded) {
  constexpr std::size_t kHosts = 40;
  NetworkHost network(Asking());
  std::vector<Peer> clients;
  for (std::size_t i = 0; i < kHosts; ++i) {
    clients.emplace_back("127.0.0.1", network.proxy_port());
    clients.back().Send(ConnectTo("host" + std::to_string(i) + ".test:443"));
    ASSERT_TRUE(network.WaitUntil(
        [&] { return network.questions().asked().size() + network.events().size() == i + 1; }));
  }
  EXPECT_EQ(network.questions().open(), 32U);
  EXPECT_TRUE(clients.back().ReadTo("\r\n\r\n").bytes.starts_with("HTTP/1.1 403 "));
  network.On([&] { network.questions().Answer(NetworkAnswer::kDeny); });
  const ConnectionLog log = network.Leave();
  EXPECT_EQ(log.connections.size(), kHosts);
  for (const ConnectionRecord& record : log.connections)
    EXPECT_FALSE(record.allowed);
  EXPECT_EQ(log.connections.front().reason, "too many questions are open");
}

TEST(Questions, AreWithdrawnWhenNobodyWaits) {
  NetworkHost network(Asking());
  Peer one("127.0.0.1", network.proxy_port());
  Peer two("127.0.0.1", network.proxy_port());
  one.Send(ConnectTo("a.test:9"));
  two.Send(ConnectTo("a.test:9"));
  ASSERT_TRUE(network.WaitUntil([&] { return network.questions().open() == 1; }));
  one.Reset();
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 1; }));
  EXPECT_EQ(network.questions().open(), 1U);
  two.Reset();
  EXPECT_TRUE(network.WaitUntil([&] { return network.questions().open() == 0; }));
  EXPECT_EQ(network.questions().withdrawn(), 1U);
}

TEST(Questions, NobodyIsAskedAboutWhatRulesDeny) {
  NetworkHost::Setup setup = Asking();
  setup.rules.deny = {"evil.test"};
  NetworkHost network(std::move(setup));
  for (const std::string whom : {"evil.test:443", "127.0.0.1:443", "[::1]:443"}) {
    Peer client("127.0.0.1", network.proxy_port());
    client.Send(ConnectTo(whom));
    EXPECT_EQ(client.ReadAll().bytes.substr(9, 3), "403") << whom;
  }
  EXPECT_TRUE(network.questions().asked().empty());
}

TEST(Questions, ARequestIsAskedAboutForItsHostAndPort) {
  TestServer server([](Peer peer) {
    while (peer.ReadTo("\r\n\r\n").bytes.ends_with("\r\n\r\n"))
      peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
  });
  NetworkHost network(Asking());
  const std::string a = At("a.test", server.port());
  Peer client("127.0.0.1", network.proxy_port());
  client.Send("GET http://" + a + "/ HTTP/1.1\r\nHost: " + a + "\r\n\r\n");
  ASSERT_TRUE(network.WaitUntil([&] { return network.questions().open() == 1; }));
  EXPECT_EQ(network.questions().asked().at(0).via, ConnectionVia::kHttp);
  network.On([&] { network.questions().Answer(NetworkAnswer::kAllow); });
  EXPECT_TRUE(client.ReadTo("\r\n\r\nx").bytes.starts_with("HTTP/1.1 200"));
  // It asks about another host, but not about every request of a connection.
  client.Send("GET http://" + a + "/ HTTP/1.1\r\nHost: " + a + "\r\n\r\n");
  EXPECT_TRUE(client.ReadTo("\r\n\r\nx").bytes.starts_with("HTTP/1.1 200"));
  const std::string b = At("b.test", server.port());
  client.Send("GET http://" + b + "/ HTTP/1.1\r\nHost: " + b + "\r\n\r\n");
  EXPECT_TRUE(network.WaitUntil([&] { return network.questions().asked().size() == 2; }));
}

}  // namespace
}  // namespace native_runner
