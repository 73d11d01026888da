#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/supervise/network/support/http.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

// Transparent connections to a port of HTTP, and CONNECT and SOCKS to one.
class HttpPort : public testing::TestWithParam<bool> {
 protected:
  // A client that is connected to a.test by way of the parameter.
  static Peer Connected(NetworkHost* network, std::uint16_t port) {
    if (!GetParam()) return {"127.1.0.1", port};
    Peer client("127.0.0.1", network->proxy_port());
    client.Send("CONNECT " + At("a.test", port) + " HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 200 "));
    return client;
  }
  static NetworkHost::Setup Setup(const TestServer& server) {
    auto setup = Allowing({At("a.test", server.port()), At("b.test", server.port())});
    setup.options.http_ports = {server.port()};
    return setup;
  }
};

TEST_P(HttpPort, EveryRequestHasToBeForTheHost) {
  TestServer server(AnswerRequests);
  const std::string a = At("a.test", server.port());
  NetworkHost network(Setup(server));
  Peer client = Connected(&network, server.port());
  client.Send(Get("/1", a));
  EXPECT_NE(ReadAnswer(&client).find("GET /1"), std::string::npos);
  client.Send(Get("/2", At("A.Test.", server.port())));
  EXPECT_NE(ReadAnswer(&client).find("GET /2"), std::string::npos);
  client.Send(Get("/3", At("b.test", server.port())) + Get("/4", a));
  const std::string all = client.ReadAll().bytes;
  EXPECT_TRUE(all.starts_with("HTTP/1.1 421 ")) << all;
  EXPECT_EQ(all.find("GET /4"), std::string::npos) << all;
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 2U);
  EXPECT_EQ(log.connections[1].host, "b.test");
  EXPECT_FALSE(log.connections[1].allowed);
}

TEST_P(HttpPort, WhatIsNoHttpIsRefused) {
  for (const std::string sent : {"SSH-2.0-x\r\n\r\n", "\x16\x03\x01zzzz\r\n\r\n", "\r\n\r\n"}) {
    TestServer server(AnswerRequests);
    NetworkHost network(Setup(server));
    Peer client = Connected(&network, server.port());
    client.Send(sent);
    client.ShutWrite();
    EXPECT_TRUE(client.ReadAll().bytes.starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(server.HasAccepted(0));
    EXPECT_EQ(network.Leave().connections.size(), 1U);
  }
}

TEST_P(HttpPort, ASecondRequestCantHideBehindTheFirst) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n";
  const std::vector<std::string> bodies = {
      "Content-Length: 0\r\n\r\n" + hidden,
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      "Transfer-Encoding: chunked\r\n\r\n0;x=\n" + hidden,
      "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n" + hidden,
      "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX" + hidden,
      "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
      "Connection: Content-Length\r\nContent-Length: 0\r\n\r\n" + hidden,
  };
  for (const std::string& body : bodies) {
    std::string got;
    {
      TestServer server([&got](Peer peer) {
        while (true) {
          const Received head = peer.ReadTo(kHeadEnd);
          got += head.bytes;
          if (!head.bytes.ends_with(kHeadEnd)) return;
          if (head.bytes.find("chunked") != std::string::npos) got += peer.ReadTo(kHeadEnd).bytes;
          if (!peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) return;
        }
      });
      NetworkHost network(Setup(server));
      Peer client = Connected(&network, server.port());
      client.Send("POST /first HTTP/1.1\r\nHost: " + At("a.test", server.port()) + "\r\n" + body);
      client.ShutWrite();
      const std::string all = client.ReadAll().bytes;
      EXPECT_TRUE(all.ends_with("\n")) << body;
      bool is_denied = false;
      for (const ConnectionRecord& record : network.Leave().connections)
        is_denied = is_denied || !record.reason.empty();
      EXPECT_TRUE(is_denied) << body;
    }
    EXPECT_EQ(got.find("/hidden"), std::string::npos) << body;
  }
}

TEST_P(HttpPort, ManyRequestsAtOnceWithAnswersThatAreThereAlready) {
  // Each answer is as long as one read, so that each seems to come when it is expected.
  constexpr int kMany = 20'000;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n";
  const std::string pad = "X: " + std::string(16'384 - 16'000 - head.size() - 7, 'x') + "\r\n\r\n";
  const std::string answer = head + pad + std::string(16'000, 'y');
  ASSERT_EQ(answer.size(), 16'384U);
  TestServer server([&](Peer peer) {
    std::thread reader([&peer] { static_cast<void>(peer.ReadAll()); });
    for (int i = 0; i < kMany && peer.Send(answer); ++i) {
    }
    peer.ShutWrite();
    reader.join();
  });
  NetworkHost network(Setup(server));
  Peer client = Connected(&network, server.port());
  std::thread sender([&] {
    const std::string request = Get("/", At("a.test", server.port()));
    for (int i = 0; i < kMany && client.Send(request); ++i) {
    }
    client.ShutWrite();
  });
  std::size_t size = 0;
  while (true) {
    const Received part = client.ReadSome(1 << 20);
    EXPECT_FALSE(part.is_late);
    if (part.bytes.empty()) break;
    size += part.bytes.size();
  }
  sender.join();
  client.Close();
  EXPECT_GE(size, answer.size());
  EXPECT_TRUE(network.WaitUntil([] { return true; }));
}

TEST_P(HttpPort, BodiesOfAnySizeAndFramingPass) {
  TestServer server([](Peer peer) {
    const std::string head = peer.ReadTo(kHeadEnd).bytes;
    EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos);
    const std::string body = peer.ReadTo("0\r\n\r\n").bytes;
    peer.Send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
              body);
    const std::string second = peer.ReadTo(kHeadEnd).bytes;
    peer.Send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  });
  NetworkHost network(Setup(server));
  Peer client = Connected(&network, server.port());
  std::string body;
  for (int i = 0; i < 40; ++i)
    body += "c350\r\n" + std::string(50'000, 'a') + "\r\n";
  body += "0\r\n\r\n";
  const std::string host = "Host: " + At("a.test", server.port()) + "\r\n";
  client.Send("PUT /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + body);
  EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 100"));
  EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(client.ReadTo("0\r\n\r\n").bytes == body);
  client.Send("GET / HTTP/1.1\r\n" + host + "\r\n");
  EXPECT_TRUE(client.ReadAll().bytes.ends_with("\r\n\r\nuntil the end"));
}

TEST_P(HttpPort, AnUpgradeIsRelayedAfterTheHostHasAgreed) {
  for (const bool agrees : {true, false}) {
    TestServer server([agrees](Peer peer) {
      const std::string head = peer.ReadTo(kHeadEnd).bytes;
      EXPECT_NE(head.find("Upgrade: websocket"), std::string::npos);
      if (!agrees) {
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        EXPECT_EQ(peer.ReadAll().bytes, "");
        return;
      }
      peer.Send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nhello");
      Echo(std::move(peer));
    });
    NetworkHost network(Setup(server));
    Peer client = Connected(&network, server.port());
    client.Send(
        Get("/", At("a.test", server.port()), "Upgrade: websocket\r\nConnection: Upgrade\r\n") +
        "GET /frames HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    const std::string head = client.ReadTo(kHeadEnd).bytes;
    EXPECT_EQ(head.substr(9, 3), agrees ? "101" : "200");
    client.ShutWrite();
    const std::string rest = client.ReadAll().bytes;
    if (agrees) {
      EXPECT_TRUE(rest.starts_with("helloGET /frames")) << rest;
    } else {
      EXPECT_TRUE(rest.starts_with("HTTP/1.1 421 ")) << rest;
    }
  }
}

TEST_P(HttpPort, AnAnswerThatBreaksOffIsNoWholeAnswer) {
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, whole.size() - 1, whole.size()}) {
    TestServer server([&](Peer peer) {
      static_cast<void>(peer.ReadTo(kHeadEnd));
      peer.Send(whole.substr(0, size));
    });
    NetworkHost network(Setup(server));
    Peer client = Connected(&network, server.port());
    client.Send(Get("/", At("a.test", server.port())));
    client.ShutWrite();
    const Received received = client.ReadAll();
    if (size == 0) {
      EXPECT_TRUE(received.bytes.starts_with("HTTP/1.1 502 ")) << received.bytes;
    } else {
      EXPECT_EQ(received.bytes, whole.substr(0, size));
      EXPECT_EQ(received.is_reset, size < whole.size()) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, HttpPort, testing::Bool(),
                         [](const auto& way) { return way.param ? "Connect" : "Transparent"; });

}  // namespace
}  // namespace native_runner
