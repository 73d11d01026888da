#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/policy/network/made_client_hello.h"
#include "tests/supervise/network/support/http.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

TEST(HttpProxy, AnswersRequestsOneAfterTheOther) {
  TestServer server(AnswerRequests);
  const std::string a = At("a.test", server.port());
  NetworkHost network(Allowing({a}));
  Peer client("127.0.0.1", network.proxy_port());
  client.Send(Get("http://" + a + "/1", a, "Proxy-Connection: keep-alive\r\n"));
  const std::string first = ReadAnswer(&client);
  EXPECT_NE(first.find("GET /1 HTTP/1.1\r\nHost: " + a), std::string::npos) << first;
  EXPECT_EQ(first.find("Proxy-Connection"), std::string::npos) << first;
  client.Send("POST http://" + a + "/2 HTTP/1.1\r\nHost: " + a +
              "\r\nContent-Length: 5\r\n\r\nhello" + Get("http://" + a + "/3", a));
  EXPECT_NE(ReadAnswer(&client).find("\r\n\r\nhello"), std::string::npos);
  EXPECT_NE(ReadAnswer(&client).find("GET /3"), std::string::npos);
  EXPECT_TRUE(server.HasAccepted(1));
  client.Close();
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].via, ConnectionVia::kHttp);
  EXPECT_GT(log.connections[0].bytes_out, 60U);
  EXPECT_GT(log.connections[0].bytes_in, log.connections[0].bytes_out);
}

TEST(HttpProxy, DecidesAboutEachRequestAnew) {
  TestServer server(AnswerRequests);
  TestServer other(AnswerRequests);
  const std::string a = At("a.test", server.port());
  const std::string b = At("b.test", other.port());
  NetworkHost network(Allowing({a, b}));
  Peer client("127.0.0.1", network.proxy_port());
  client.Send(Get("http://" + a + "/1", a));
  EXPECT_NE(ReadAnswer(&client).find("GET /1"), std::string::npos);
  client.Send(Get("http://" + b + "/2", b));
  EXPECT_NE(ReadAnswer(&client).find("Host: " + b), std::string::npos);
  client.Send(Get("http://evil.test/3", "evil.test"));
  const std::string refusal = ReadAnswer(&client);
  EXPECT_TRUE(refusal.starts_with("HTTP/1.1 403 Forbidden\r\n")) << refusal;
  EXPECT_TRUE(refusal.ends_with("no rule allows evil.test:80\n")) << refusal;
  EXPECT_EQ(client.ReadAll().bytes, "");
  EXPECT_TRUE(server.HasAccepted(1) && other.HasAccepted(1));
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 3U);
  EXPECT_EQ(log.connections[1].host, "b.test");
  EXPECT_EQ(log.connections[2].host, "evil.test");
  EXPECT_FALSE(log.connections[2].allowed);
  EXPECT_EQ(log.connections[2].address, "");  // not that of the host before
}

TEST(HttpProxy, RefusesWhatItIsNotFor) {
  TestServer server(AnswerRequests);
  const std::string a = At("a.test", server.port());
  const std::string authority = "CONNECT " + a + " HTTP/1.1\r\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {Get("http://" + a + "/", a), "200"},  // the positive control
      {Get("/", a), "400"},
      {Get("https://" + a + "/", a), "501"},
      {Get("http://u@" + a + "/", a), "400"},
      {Get("http://" + a + "/", "evil.test"), "400"},
      {Get("http://" + a + "/", a, "Host: " + a + "\r\n"), "400"},
      {Get("http://" + a + "/", a, "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "400"},
      {Get("http://" + a + "/", a, "Content-Length: 1\r\nContent-Length: 1\r\n"), "400"},
      {Get("http://" + a + "/", a, "A : b\r\n"), "400"},
      {Get("http://" + a + "/", a, "A: b\r\n c\r\n"), "400"},
      {"GET http://" + a + "/ HTTP/1.1\nHost: " + a + "\n\n", "400"},
      {"GET http://" + a + "/ HTTP/2.0\r\nHost: " + a + "\r\n\r\n", "505"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
      {Get("http://127.0.0.1:" + std::to_string(server.port()) + "/",
           At("127.0.0.1", server.port())),
       "403"},
      {Get("http://0x7f000001:" + std::to_string(server.port()) + "/",
           At("0x7f000001", server.port())),
       "403"},
      {Get("http://" + a + "/", a, "X: " + std::string(40'000, 'x') + "\r\n"), "431"},
      {"CONNECT a.test:1 HTTP/1.1\r\nHost: a.test:1\r\n\r\n", "403"},
      {"CONNECT 127.0.0.1:" + std::to_string(server.port()) + " HTTP/1.1\r\n\r\n", "403"},
      {authority + "Host: " + a + "\r\nContent-Length: 1\r\n\r\n", "400"},
  };
  for (const auto& [sent, status] : cases) {
    NetworkHost network(Allowing({a}));
    Peer client("127.0.0.1", network.proxy_port());
    client.Send(sent);
    client.ShutWrite();
    const std::string answer = client.ReadAll().bytes;
    EXPECT_EQ(answer.substr(0, 13), "HTTP/1.1 " + status + " ") << sent.substr(0, 200) << answer;
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U) << sent.substr(0, 200);
    EXPECT_EQ(log.connections[0].allowed, status == "200");
  }
  EXPECT_TRUE(server.HasAccepted(1));
}

TEST(HttpProxy, FailuresAreSaidAndAreNoDenials) {
  std::uint16_t closed = 0;
  {
    const Descriptor gone = ListenAt("127.0.0.1", 0);
    closed = PortOf(gone);
  }
  const std::string a = At("a.test", closed);
  auto setup = Allowing({a, At("none.test", closed), At("private.test", closed)});
  setup.options.hosts["none.test"] = {};
  setup.options.hosts["private.test"] = {IpAddress::V4(0xa9fea9fe)};
  NetworkHost network(std::move(setup));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a.test", "502"}, {"none.test", "502"}, {"private.test", "403"}};
  for (const auto& [host, status] : cases) {
    for (const bool is_tunnel : {false, true}) {
      const std::string whom = At(host, closed);
      Peer client("127.0.0.1", network.proxy_port());
      client.Send(is_tunnel ? "CONNECT " + whom + " HTTP/1.1\r\nHost: " + whom + kHeadEnd
                            : Get("http://" + whom + "/", whom));
      EXPECT_EQ(ReadAnswer(&client).substr(9, 3), status) << host;
    }
  }
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 6U);
  EXPECT_TRUE(log.connections[0].allowed);
  EXPECT_EQ(log.connections[0].reason, "it can't be connected to: Connection refused");
  EXPECT_EQ(log.connections[0].address, "127.0.0.1");
  EXPECT_TRUE(log.connections[2].allowed);
  EXPECT_FALSE(log.connections[4].allowed);
  EXPECT_EQ(log.connections[4].address, "169.254.169.254");
  EXPECT_EQ(log.connections[4].rule, "");
}

TEST(HttpProxy, TunnelsByConnect) {
  TestServer server(Echo);
  const std::string a = At("a.test", server.port());
  NetworkHost network(Allowing({a}));
  Peer client("127.0.0.1", network.proxy_port());
  client.Send("CONNECT " + a + " HTTP/1.1\r\n\r\nat once");
  EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(client.ReadSome(7).bytes, "at once");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "");
  EXPECT_EQ(network.Leave().connections.at(0).via, ConnectionVia::kConnect);
}

TEST(HttpProxy, ATunnelToATlsPortHasToNameItsHost) {
  for (const std::string name : {"a.test", "b.test"}) {
    TestServer server(Echo);
    const std::string a = At("a.test", server.port());
    auto setup = Allowing({a});
    setup.options.tls_ports = {server.port()};
    NetworkHost network(std::move(setup));
    Peer client("127.0.0.1", network.proxy_port());
    client.Send("CONNECT " + a + " HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 200 "));
    const TlsBytes hello = Records(HelloMessage(HelloBody(ServerName(name))), 16384);
    client.Send({hello.begin(), hello.end()});
    client.ShutWrite();
    const Received received = client.ReadAll();
    EXPECT_EQ(received.bytes.size(), name == "a.test" ? hello.size() : 0);
    EXPECT_EQ(received.is_reset, name != "a.test");
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_EQ(log.connections[0].allowed, name == "a.test");
  }
}

TEST(HttpProxy, PlainHttpToATlsPortIsRefused) {
  TestServer server(AnswerRequests);
  const std::string a = At("a.test", server.port());
  auto setup = Allowing({a});
  setup.options.tls_ports = {server.port()};
  NetworkHost network(std::move(setup));
  Peer client("127.0.0.1", network.proxy_port());
  client.Send(Get("http://" + a + "/", a));
  EXPECT_EQ(ReadAnswer(&client).substr(9, 3), "403");
}

}  // namespace
}  // namespace native_runner
