#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

TEST(Leave, HandsOnWhatWasSentAndCloses) {
  std::string got;
  {
    TestServer server([&got](Peer peer) {
      EXPECT_EQ(peer.ReadExactly(1), "x");
      peer.Send("y");
      got = peer.ReadAll().bytes;
    });
    NetworkHost network(Allowing({At("a.test", server.port())}));
    Peer client("127.1.0.1", server.port());
    client.Send("x");
    EXPECT_EQ(client.ReadExactly(1), "y");
    // The loop does not get to see it before Leave.
    ConnectionLog log;
    network.On([&] { client.Send("the last words"); });
    log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_EQ(log.connections[0].bytes_out, 15U);
    EXPECT_EQ(client.ReadAll().bytes, "");
    EXPECT_EQ(network.size(), 0U);
  }
  EXPECT_EQ(got, "the last words");
}

TEST(Leave, AnotherCommandKeepsItsConnections) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  const std::uint64_t second = network.Enter({"second"});
  Peer client("127.1.0.1", server.port());
  client.Send("x");
  EXPECT_EQ(client.ReadExactly(1), "x");
  const ConnectionLog first = network.Leave();
  ASSERT_EQ(first.connections.size(), 1U);
  EXPECT_EQ(first.connections[0].bytes_out, 1U);
  client.Send("y");
  EXPECT_EQ(client.ReadExactly(1), "y");
  const ConnectionLog log = network.Leave(second);
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].bytes_out, 2U);
  EXPECT_EQ(client.ReadAll().bytes, "");
}

TEST(Leave, OfANumberThatIsNoneGivesNothing) {
  NetworkHost network(Allowing({"a.test"}));
  EXPECT_TRUE(network.Leave(99).connections.empty());
  network.Leave();
  EXPECT_TRUE(network.Leave().connections.empty());
}

// A state in which a connection can be when all ends, how it is reached and how it is known.
struct State {
  std::string name;
  std::function<void(NetworkHost*, Peer*, std::uint16_t port)> reach;
  std::size_t records;  // that Leave has of it
};

std::vector<State> States() {
  const auto sends = [](std::string text) {
    return [text = std::move(text)](NetworkHost* network, Peer* client, std::uint16_t port) {
      std::string sent = text;
      const std::size_t at = sent.find("PORT");
      if (at != std::string::npos) sent.replace(at, 4, std::to_string(port));
      client->Send(sent);
      ASSERT_TRUE(network->WaitUntil([&] { return true; }));
    };
  };
  return {
      {"nothing was sent", sends(""), 0},
      {"a head is half there", sends("GET http://a.test:PORT/ HT"), 0},
      {"a SOCKS greeting is half there", sends("\x05"), 0},
      {"it asks",
       [](NetworkHost* network, Peer* client, std::uint16_t) {
         client->Send("CONNECT ask.test:443 HTTP/1.1\r\n\r\n");
         ASSERT_TRUE(network->WaitUntil([&] { return network->questions().open() == 1; }));
       },
       1},
      {"it asks about a request",
       [](NetworkHost* network, Peer* client, std::uint16_t) {
         client->Send("GET http://ask.test/ HTTP/1.1\r\nHost: ask.test\r\n\r\n");
         ASSERT_TRUE(network->WaitUntil([&] { return network->questions().open() == 1; }));
       },
       1},
      {"it resolves", sends("CONNECT localhost:PORT HTTP/1.1\r\n\r\n"), 1},
      {"it connects", sends("CONNECT far.test:PORT HTTP/1.1\r\n\r\n"), 1},
      {"it waits for a hello",
       [](NetworkHost*, Peer* client, std::uint16_t port) {
         client->Send("CONNECT tls.test:" + std::to_string(port) + " HTTP/1.1\r\n\r\n");
         EXPECT_TRUE(client->ReadTo("\r\n\r\n").bytes.starts_with("HTTP/1.1 200"));
       },
       1},
      {"it waits for an answer", sends("GET http://a.test:PORT/ HTTP/1.0\r\n\r\n"), 1},
      {"it relays",
       [](NetworkHost*, Peer* client, std::uint16_t port) {
         client->Send("CONNECT a.test:" + std::to_string(port) + " HTTP/1.1\r\n\r\nx");
         EXPECT_TRUE(client->ReadTo("\r\n\r\nx").bytes.starts_with("HTTP/1.1 200"));
       },
       1},
      {"it was refused", sends("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n"), 1},
  };
}

NetworkHost::Setup SetupOf(const State& state, std::uint16_t port) {
  NetworkHost::Setup setup = Allowing(
      {At("a.test", port), At("far.test", port), At("localhost", port), At("tls.test", port)});
  setup.rules.asks = true;
  if (state.name == "it waits for a hello") setup.options.tls_ports = {port};
  setup.options.hosts["tls.test"] = setup.options.hosts["a.test"];
  setup.options.hosts["far.test"] = {IpAddress::V4(0x7f000002)};
  return setup;
}

TEST(Close, InAnyStateLeavesNothing) {
  for (const State& state : States()) {
    SCOPED_TRACE(state.name);
    TestServer server(Echo);
    const FullListener far("127.0.0.2", server.port());
    std::optional<Peer> client;
    NetworkHost network(SetupOf(state, server.port()));
    client.emplace("127.0.0.1", network.proxy_port());
    state.reach(&network, &*client, server.port());
    network.Close();
    EXPECT_EQ(network.size(), 0U);
    EXPECT_EQ(network.questions().open(), 0U);
    EXPECT_FALSE(client->ReadAll().is_late);
    EXPECT_FALSE(Peer("127.0.0.1", network.proxy_port()).connected());
    network.Close();  // again
  }
}

TEST(Leave, InAnyStateEndsAndRecordsIt) {
  for (const State& state : States()) {
    SCOPED_TRACE(state.name);
    TestServer server(Echo);
    const FullListener far("127.0.0.2", server.port());
    NetworkHost network(SetupOf(state, server.port()));
    Peer client("127.0.0.1", network.proxy_port());
    state.reach(&network, &client, server.port());
    const ConnectionLog log = network.Leave();
    EXPECT_EQ(log.connections.size(), state.records);
    EXPECT_EQ(network.size(), 0U);
    EXPECT_EQ(network.questions().open(), 0U);
    EXPECT_FALSE(client.ReadAll().is_late);
  }
}

TEST(Leave, WhatWasConnectedToJustBeforeIsInTheRecord) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.transparent = "127.8.8.8";
  NetworkHost network(std::move(setup));
  std::optional<Peer> client;
  network.On([&] { client.emplace("127.8.8.8", server.port()); });
  EXPECT_EQ(network.Leave().connections.size(), 1U);
}

TEST(Leave, AllThatWaitInTheKernelAreInTheRecordAndInNoOther) {
  constexpr std::uint64_t kClients = 1000;
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.transparent = "127.8.8.8";
  NetworkHost network(std::move(setup));
  std::vector<Peer> clients;
  network.On([&] {
    for (std::uint64_t i = 0; i < kClients; ++i)
      clients.emplace_back("127.8.8.8", server.port());
  });
  const ConnectionLog log = network.Leave();
  const std::uint64_t second = network.Enter({"second"});
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].count, kClients);
  for (Peer& client : clients)
    EXPECT_FALSE(client.ReadAll().is_late);
  EXPECT_TRUE(network.Leave(second).connections.empty());
}

}  // namespace
}  // namespace native_runner
