#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"
#include "tests/supervise/support/pattern.h"

namespace native_runner {
namespace {

TEST(Relay, AnEndInOneDirectionLeavesTheOther) {
  TestServer server([](Peer peer) {
    const Received all = peer.ReadAll();  // the client's end comes
    peer.Send("got " + std::to_string(all.bytes.size()));
  });
  NetworkHost network(Allowing({At("a.test", server.port())}));
  Peer client("127.1.0.1", server.port());
  client.Send("12345");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "got 5");
}

TEST(Relay, TheHostsEndLeavesTheClientsDirection) {
  std::string got;
  {
    TestServer server([&got](Peer peer) {
      peer.Send("bye");
      peer.ShutWrite();
      got = peer.ReadAll().bytes;
    });
    NetworkHost network(Allowing({At("a.test", server.port())}));
    Peer client("127.1.0.1", server.port());
    EXPECT_EQ(client.ReadAll().bytes, "bye");
    EXPECT_TRUE(client.Send("still here"));
    client.Close();
    EXPECT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  }
  EXPECT_EQ(got, "still here");
}

TEST(Relay, AResetOfTheHostIsAReset) {
  TestServer server([](Peer peer) {
    static_cast<void>(peer.ReadSome(1));
    peer.Reset();
  });
  NetworkHost network(Allowing({At("a.test", server.port())}));
  Peer client("127.1.0.1", server.port());
  client.Send("x");
  EXPECT_TRUE(client.ReadAll().is_reset);
}

TEST(Relay, AResetOfTheClientIsAReset) {
  bool is_reset = false;
  {
    TestServer server([&is_reset](Peer peer) {
      peer.Send("x");
      is_reset = peer.ReadAll().is_reset;
    });
    NetworkHost network(Allowing({At("a.test", server.port())}));
    Peer client("127.1.0.1", server.port());
    EXPECT_EQ(client.ReadSome(1).bytes, "x");
    client.Reset();
    EXPECT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  }
  EXPECT_TRUE(is_reset);
}

TEST(Relay, MovesMuchInBothDirectionsToSlowReaders) {
  const std::string all = Pattern((24 << 20) + 77);
  std::string at_host;
  std::string at_client;
  const auto slowly = [](Peer* peer) {
    std::string got;
    for (int turn = 0;; ++turn) {
      const Received part = peer->ReadSome(300'000);
      if (part.bytes.empty()) return got;
      got += part.bytes;
      if (turn % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto both = [&](Peer* peer, std::string* got) {
    std::thread sender([&] {
      EXPECT_TRUE(peer->Send(all));
      peer->ShutWrite();
    });
    *got = slowly(peer);
    sender.join();
  };
  {
    TestServer server([&](Peer peer) { both(&peer, &at_host); });
    NetworkHost network(Allowing({At("a.test", server.port())}));
    Peer client("127.1.0.1", server.port());
    both(&client, &at_client);
    ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
    const ConnectionLog log = network.Leave();
    ASSERT_EQ(log.connections.size(), 1U);
    EXPECT_EQ(log.connections[0].bytes_in, all.size());
    EXPECT_EQ(log.connections[0].bytes_out, all.size());
  }
  EXPECT_TRUE(at_host == all) << at_host.size();
  EXPECT_TRUE(at_client == all) << at_client.size();
}

TEST(Relay, AReaderThatStopsStopsTheWriterNotTheOthers) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  Peer stuck("127.1.0.1", server.port());
  std::thread writer([&stuck] { static_cast<void>(stuck.Send(std::string(64 << 20, 'x'))); });
  Peer other("127.1.0.1", server.port());
  other.Send("x");
  other.ShutWrite();
  EXPECT_EQ(other.ReadAll().bytes, "x");
  shutdown(stuck.get(), SHUT_RDWR);
  writer.join();
  stuck.Close();
}

TEST(Relay, AThousandConnectionsAtOnce) {
  constexpr int kMany = 1000;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 9 * kMany) GTEST_SKIP() << "not as many descriptors may be had";
  // One thread for all: what is tested is the relay.
  Descriptor listener = ListenAt("127.0.0.1", 0, kMany);
  NetworkHost network(Allowing({At("a.test", PortOf(listener))}));
  std::vector<std::unique_ptr<Peer>> clients;
  std::vector<std::unique_ptr<Peer>> hosts;
  for (int i = 0; i < kMany; ++i) {
    clients.push_back(std::make_unique<Peer>("127.1.0.1", PortOf(listener)));
    ASSERT_TRUE(clients.back()->connected()) << i;
    ASSERT_TRUE(clients.back()->Send("x" + std::to_string(i) + "\n"));
  }
  for (int i = 0; i < kMany; ++i) {
    Descriptor socket(accept(listener.get(), nullptr, nullptr));
    ASSERT_TRUE(socket.valid());
    hosts.push_back(std::make_unique<Peer>(std::move(socket)));
  }
  for (auto& host : hosts)
    ASSERT_TRUE(host->Send(host->ReadTo("\n").bytes));
  for (int i = 0; i < kMany; ++i)
    ASSERT_EQ(clients[i]->ReadTo("\n").bytes, "x" + std::to_string(i) + "\n");
  EXPECT_EQ(network.size(), static_cast<std::size_t>(kMany));
  clients.clear();
  hosts.clear();
  EXPECT_TRUE(network.WaitUntil([&] { return network.events().size() == 2 * kMany; }));
  EXPECT_EQ(network.size(), 0U);
  EXPECT_EQ(network.Leave().connections.size(), static_cast<std::size_t>(kMany));
}

}  // namespace
}  // namespace native_runner
