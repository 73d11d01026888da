// The sandbox's loopback is 127.0.0.1 of this process; the host's services are at 127.0.0.2.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

constexpr char kHostAddress[] = "127.0.0.2";

NetworkHost::Setup With(std::uint16_t port, const char* sandbox = "127.0.0.1") {
  NetworkHost::Setup setup;
  setup.rules.host_ports = {At(kHostAddress, port)};
  setup.options.sweep_ms = 10;
  setup.transparent = sandbox;
  return setup;
}

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>((i * 2654435761U) >> 13U);
  return bytes;
}

TEST(HostPortConnection, ReachesTheServiceAndIsRecorded) {
  TestServer server(Echo, kHostAddress);
  NetworkHost network(With(server.port()));
  Peer client("127.0.0.1", server.port());
  ASSERT_TRUE(client.Send("hello"));
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "hello");
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  EXPECT_EQ(network.events()[0].first, RecordEvent::kOpened);
  EXPECT_EQ(network.events()[1].first, RecordEvent::kEnded);
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  const ConnectionRecord& record = log.connections.front();
  EXPECT_EQ(record.host, kHostAddress);
  EXPECT_EQ(record.port, server.port());
  EXPECT_EQ(record.address, kHostAddress);
  EXPECT_TRUE(record.allowed);
  EXPECT_EQ(record.rule, At(kHostAddress, server.port()));
  EXPECT_EQ(record.reason, "");
  EXPECT_STREQ(ConnectionViaName(record.via), "host-port");
  EXPECT_EQ(record.bytes_out, 5U);
  EXPECT_EQ(record.bytes_in, 5U);
  EXPECT_TRUE(network.questions().asked().empty());
}

TEST(HostPortConnection, TheServiceMaySpeakFirst) {
  TestServer server(
      [](Peer peer) {
        peer.Send("hello\n");
        peer.ReadAll();
      },
      kHostAddress);
  NetworkHost network(With(server.port()));
  Peer client("127.0.0.1", server.port());
  EXPECT_EQ(client.ReadTo("\n").bytes, "hello\n");
}

TEST(HostPortConnection, IsAtTheSandboxsLoopbackAlone) {
  for (const char* address : {"127.0.0.3", "127.1.0.1"}) {
    TestServer server(Echo, kHostAddress);
    NetworkHost network(With(server.port(), address));
    Peer client(address, server.port());
    EXPECT_TRUE(client.ReadAll().is_reset) << address;
    EXPECT_TRUE(server.HasAccepted(0));
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_FALSE(log.connections[0].allowed);
    EXPECT_EQ(log.connections[0].reason, "it is an address, not a name");
  }
}

// The listener of a rule for a name, at the sandbox's own address.
TEST(HostPortConnection, IsOfNoOtherPort) {
  TestServer server(Echo, kHostAddress);
  TestServer other(Echo, kHostAddress);
  auto setup = With(server.port());
  setup.rules.allow = {At("a.test", other.port())};
  NetworkHost network(std::move(setup));
  Peer client("127.0.0.1", other.port());
  EXPECT_TRUE(client.ReadAll().is_reset);
  EXPECT_TRUE(other.HasAccepted(0));
  Peer control("127.0.0.1", server.port());
  control.Send("x");
  control.ShutWrite();
  EXPECT_EQ(control.ReadAll().bytes, "x");
}

TEST(HostPortConnection, ToANameOfTheSamePortIsForTheName) {
  TestServer server(Echo, kHostAddress);
  auto setup = Allowing({At("a.test", server.port())}, {kHostAddress});
  setup.rules.host_ports = {At("127.0.0.3", server.port())};
  NetworkHost network(std::move(setup));
  Peer client("127.1.0.1", server.port());
  client.Send("x");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "x");
  EXPECT_EQ(network.Leave().connections.at(0).host, "a.test");
}

TEST(HostPortConnection, TheProxyServesNone) {
  TestServer server(Echo, kHostAddress);
  NetworkHost network(With(server.port()));
  for (const char* host : {"127.0.0.1", kHostAddress, "localhost"}) {
    Peer client("127.0.0.1", network.proxy_port());
    client.Send("CONNECT " + At(host, server.port()) + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.ReadExactly(12), "HTTP/1.1 403") << host;
  }
  EXPECT_TRUE(server.HasAccepted(0));
}

TEST(HostPortConnection, IsResetWhereNothingListens) {
  const std::uint16_t port = PortOf(ListenAt(kHostAddress, 0));
  NetworkHost network(With(port));
  for (int i = 0; i < 3; ++i) {
    Peer client("127.0.0.1", port);
    EXPECT_TRUE(client.ReadAll().is_reset);
  }
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_TRUE(log.connections[0].allowed);
  EXPECT_EQ(log.connections[0].count, 3U);
  EXPECT_EQ(log.connections[0].reason, "it can't be connected to: Connection refused");
}

TEST(HostPortConnection, PassesAnEndOfFileOnAndStaysOpenTheOtherWay) {
  TestServer server(
      [](Peer peer) {
        const std::string sent = peer.ReadAll().bytes;
        peer.Send("got " + std::to_string(sent.size()));
      },
      kHostAddress);
  NetworkHost network(With(server.port()));
  Peer client("127.0.0.1", server.port());
  client.Send("12345");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "got 5");
}

TEST(HostPortConnection, MovesManyBytesBothWays) {
  TestServer server(Echo, kHostAddress);
  NetworkHost network(With(server.port()));
  const std::string bytes = Pattern(std::size_t{32} << 20U);
  Peer client("127.0.0.1", server.port());
  std::thread sender([&] {
    client.Send(bytes);
    client.ShutWrite();
  });
  const bool is_same = client.ReadAll().bytes == bytes;
  sender.join();
  EXPECT_TRUE(is_same);
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  const ConnectionRecord record = network.Leave().connections.at(0);
  EXPECT_EQ(record.bytes_out, bytes.size());
  EXPECT_EQ(record.bytes_in, bytes.size());
}

TEST(HostPortConnection, AServiceThatGoesResetsIt) {
  TestServer server(
      [](Peer peer) {
        peer.ReadSome(1);
        peer.Reset();
      },
      kHostAddress);
  NetworkHost network(With(server.port()));
  Peer client("127.0.0.1", server.port());
  client.Send("x");
  EXPECT_TRUE(client.ReadAll().is_reset);
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  EXPECT_EQ(network.size(), 0U);
}

TEST(HostPortConnection, AClientThatNeverReadsHoldsNothingUp) {
  TestServer server(
      [](Peer peer) {
        peer.Send(Pattern(std::size_t{8} << 20U));
        peer.ReadAll();
      },
      kHostAddress);
  NetworkHost network(With(server.port()));
  Peer deaf("127.0.0.1", server.port());
  Peer client("127.0.0.1", server.port());
  EXPECT_EQ(client.ReadExactly(std::size_t{8} << 20U), Pattern(std::size_t{8} << 20U));
  EXPECT_EQ(network.size(), 2U);
  const ConnectionLog log = network.Leave();
  EXPECT_EQ(network.size(), 0U);
  EXPECT_TRUE(deaf.connected());
  EXPECT_EQ(log.connections.size(), 2U);
}

TEST(HostPortConnection, WithoutACommandIsReset) {
  TestServer server(Echo, kHostAddress);
  auto setup = With(server.port());
  setup.enters = false;
  NetworkHost network(std::move(setup));
  Peer client("127.0.0.1", server.port());
  EXPECT_TRUE(client.ReadAll().is_reset);
  EXPECT_TRUE(server.HasAccepted(0));
}

// A service whose queue is full answers nobody.
class WaitingHostPort : public testing::Test {
 protected:
  // What the command's record says of the connection that ended first, when so many are left.
  static std::string ReasonOf(NetworkHost* network, std::size_t left) {
    EXPECT_TRUE(network->WaitUntil([&] { return !network->events().empty(); }));
    EXPECT_EQ(network->size(), left);
    const ConnectionLog log = network->Leave();
    return log.connections.empty() ? "nothing was recorded" : log.connections[0].reason;
  }

  FullListener full_{kHostAddress, 0};
};

TEST_F(WaitingHostPort, IsResetAtTheDeadline) {
  auto setup = With(full_.port());
  setup.options.connect_ms = 50;
  NetworkHost network(std::move(setup));
  Peer client("127.0.0.1", full_.port());
  EXPECT_TRUE(client.ReadAll().is_reset);
  EXPECT_EQ(ReasonOf(&network, 0), "it did not answer in time");
}

TEST_F(WaitingHostPort, WaitsForAClientThatSendsNoMoreAndEndsWithOneThatIsGone) {
  NetworkHost network(With(full_.port()));
  Peer client("127.0.0.1", full_.port());
  client.Send("x");
  client.ShutWrite();
  Peer other("127.0.0.1", full_.port());
  other.Reset();
  EXPECT_EQ(ReasonOf(&network, 1), "the client went before it was connected");
  EXPECT_TRUE(client.ReadAll().is_reset);
}

TEST_F(WaitingHostPort, EndsWithTheCommand) {
  NetworkHost network(With(full_.port()));
  Peer client("127.0.0.1", full_.port());
  const ConnectionLog log = network.Leave();
  EXPECT_TRUE(client.ReadAll().is_reset);
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].reason, "the command ended before it was connected");
}

}  // namespace
}  // namespace native_runner
