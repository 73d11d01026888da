#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

using namespace std::string_literals;

std::string PortBytes(std::uint16_t port) {
  return {static_cast<char>(port >> 8), static_cast<char>(port & 0xff)};
}

std::string Named(const std::string& name, std::uint16_t port, char command = 1) {
  return "\x05"s + command + "\0\x03"s + static_cast<char>(name.size()) + name + PortBytes(port);
}

// The code of the reply to `request`, or -1 where there is none.
int Reply(Peer* client, const std::string& request) {
  client->Send("\x05\x01\0"s);
  if (client->ReadExactly(2) != "\x05\0"s) return -1;
  client->Send(request);
  const std::string reply = client->ReadExactly(10);
  if (reply.size() < 10) return -1;
  return static_cast<unsigned char>(reply[1]);
}

// Counts all connections, including those that share an entry.
std::size_t CountOf(const ConnectionLog& log) {
  std::size_t count = 0;
  for (const ConnectionRecord& record : log.connections)
    count += record.count;
  return count;
}

TEST(Socks, ConnectsToNames) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  Peer client("127.0.0.1", network.proxy_port());
  EXPECT_EQ(Reply(&client, Named("a.test", server.port())), 0);
  client.Send("x");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "x");
  EXPECT_EQ(network.Leave().connections.at(0).via, ConnectionVia::kSocks);
}

TEST(Socks, RefusesTheRestWithItsReason) {
  TestServer server(Echo);
  const std::uint16_t port = server.port();
  std::uint16_t closed = 0;
  {
    const Descriptor gone = ListenAt("127.0.0.1", 0);
    closed = PortOf(gone);
  }
  auto setup = Allowing(
      {At("a.test", port), At("a.test", closed), At("none.test", port), At("private.test", port)});
  setup.options.hosts["none.test"] = {};
  setup.options.hosts["private.test"] = {IpAddress::V4(0x0a000001)};
  NetworkHost network(std::move(setup));
  const std::vector<std::pair<std::string, int>> cases = {
      {Named("a.test", port), 0},
      {Named("a.test", 1), 2},
      {Named("evil.test", port), 2},
      {Named("a.test\0.evil.test"s, port), 2},
      {Named("evil.test\0a.test"s, port), 2},
      {Named("a.test%0", port), 2},
      {Named("127.0.0.1", port), 2},
      {Named("2130706433", port), 2},
      {"\x05\x01\0\x01\x7f\0\0\x01"s + PortBytes(port), 2},
      {"\x05\x01\0\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01"s + PortBytes(port), 2},
      {Named("private.test", port), 2},
      {Named("none.test", port), 4},
      {Named("a.test", closed), 5},
      {Named("a.test", port, 2), 7},
      {Named("a.test", port, 3), 7},
      {"\x05\x01\0\x09zzzzzz"s + PortBytes(port), 8},
  };
  for (const auto& [request, reply] : cases) {
    Peer client("127.0.0.1", network.proxy_port());
    EXPECT_EQ(Reply(&client, request), reply) << testing::PrintToString(request);
    if (reply != 0) {
      client.ShutWrite();
      EXPECT_EQ(client.ReadAll().bytes, "");
    }
  }
  EXPECT_TRUE(server.HasAccepted(1));
  EXPECT_EQ(CountOf(network.Leave()), cases.size());
}

TEST(Socks, OthersThanVersion5WithoutALoginGetNothing) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  const std::vector<std::string> greetings = {"\x04\x01\x01\xbb\x7f\0\0\x01\0"s, "\0\0\0"s,
                                              "\x05\x01\x02"s, "\x05\0"s, "\x16\x03\x01"s};
  for (const std::string& greeting : greetings) {
    Peer client("127.0.0.1", network.proxy_port());
    client.Send(greeting);
    const Received received = client.ReadAll();
    EXPECT_FALSE(received.is_late);
    EXPECT_EQ(received.bytes, greeting == "\x05\x01\x02"s ? "\x05\xff"s : ""s);
  }
  EXPECT_EQ(CountOf(network.Leave()), greetings.size());
}

}  // namespace
}  // namespace native_runner
