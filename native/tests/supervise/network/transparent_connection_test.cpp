#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/policy/network/made_client_hello.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

std::string HelloFor(const std::string& name) {
  const TlsBytes bytes = Records(HelloMessage(HelloBody(ServerName(name))), 16384);
  return {bytes.begin(), bytes.end()};
}

TEST(TransparentConnection, ReachesTheHostOfTheNameAndIsRecorded) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  Peer client("127.1.0.1", server.port());
  ASSERT_TRUE(client.Send("hello"));
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "hello");
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  const ConnectionRecord& record = log.connections.front();
  EXPECT_EQ(record.host, "a.test");
  EXPECT_EQ(record.port, server.port());
  EXPECT_EQ(record.address, "127.0.0.1");
  EXPECT_TRUE(record.allowed);
  EXPECT_EQ(record.rule, At("a.test", server.port()));
  EXPECT_EQ(record.reason, "");
  EXPECT_EQ(record.bytes_out, 5U);
  EXPECT_EQ(record.bytes_in, 5U);
  EXPECT_GT(record.duration_ms, 0);
  EXPECT_EQ(network.events()[0].first, RecordEvent::kOpened);
  EXPECT_EQ(network.events()[1].first, RecordEvent::kEnded);
}

TEST(TransparentConnection, NamesAreResolvedByTheHost) {
  TestServer server(Echo);
  auto setup = Allowing({At("localhost", server.port())});
  setup.options.hosts.clear();
  NetworkHost network(std::move(setup));
  Peer client("127.1.0.1", server.port());
  client.Send("x");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "x");
}

TEST(TransparentConnection, ToAnAddressWithoutANameIsReset) {
  for (const char* address : {"127.9.9.9", "127.1.0.2", "127.0.0.2"}) {
    TestServer server(Echo);
    auto setup = Allowing({At("a.test", server.port())});
    setup.transparent = address;
    NetworkHost network(std::move(setup));
    Peer client(address, server.port());
    EXPECT_TRUE(client.ReadAll().is_reset) << address;
    EXPECT_TRUE(server.HasAccepted(0));
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_EQ(log.connections[0].host, address);
    EXPECT_FALSE(log.connections[0].allowed);
    EXPECT_EQ(log.connections[0].reason, "it is an address, not a name");
  }
}

TEST(TransparentConnection, ToAPortThatIsDeniedIsResetAndRecordedOnce) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.rules.deny = {At("a.test", server.port())};
  NetworkHost network(std::move(setup));
  for (int i = 0; i < 3; ++i) {
    Peer client("127.1.0.1", server.port());
    EXPECT_TRUE(client.ReadAll().is_reset);
  }
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].count, 3U);
  EXPECT_EQ(log.connections[0].rule, At("a.test", server.port()));
  EXPECT_EQ(network.events().size(), 1U);
}

TEST(TransparentConnection, WithoutACommandIsReset) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.enters = false;
  NetworkHost network(std::move(setup));
  EXPECT_TRUE(Peer("127.1.0.1", server.port()).ReadAll().is_reset);
  network.Enter({"prog"});
  Peer client("127.1.0.1", server.port());
  client.ShutWrite();
  EXPECT_FALSE(client.ReadAll().is_reset);
}

// Bytes that a client sends on a TLS port, and the reason of the refusal; "" if it is allowed.
struct TlsCase {
  std::string sent;
  std::string reason;
};

TEST(TransparentConnection, OnATlsPortHasToNameItsHost) {
  const TlsBytes nameless = Records(HelloMessage(HelloBody({})));
  const std::vector<TlsCase> cases = {
      {HelloFor("a.test"), ""},
      {HelloFor("A.Test") + "more", ""},
      {HelloFor("b.test"), "its TLS names b.test"},
      {HelloFor("x.a.test"), "its TLS names x.a.test"},
      {{nameless.begin(), nameless.end()}, "its TLS names no server"},
      {"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "it is not TLS"},
      {std::string("\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9), "its TLS is malformed"},
      {HelloFor("a.test").substr(0, 20), "it ended before a TLS ClientHello"},
      {"", "it ended before a TLS ClientHello"},
  };
  for (const TlsCase& one : cases) {
    TestServer server(Echo);
    auto setup = Allowing({At("a.test", server.port())});
    setup.options.tls_ports = {server.port()};
    NetworkHost network(std::move(setup));
    Peer client("127.1.0.1", server.port());
    client.Send(one.sent);
    client.ShutWrite();
    const Received received = client.ReadAll();
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U) << one.reason;
    EXPECT_EQ(log.connections[0].reason, one.reason);
    EXPECT_TRUE(server.HasAccepted(one.reason.empty() ? 1 : 0)) << one.reason;
    EXPECT_EQ(received.bytes, one.reason.empty() ? one.sent : "") << one.reason;
    EXPECT_EQ(received.is_reset, !one.reason.empty()) << one.reason;
  }
}

}  // namespace
}  // namespace native_runner
