#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/supervise/network/support/http.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

int HighestDescriptor() {
  int highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    highest = std::max(highest, std::stoi(entry.path().filename()));
  return highest;
}

TEST(Limits, ConnectionsOverTheLimitWaitUntilOneEnds) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.options.most_connections = 4;
  NetworkHost network(std::move(setup));
  std::vector<std::unique_ptr<Peer>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Peer>("127.1.0.1", server.port()));
    clients.back()->Send("x");
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i)]->ReadExactly(1), "x");
  EXPECT_EQ(network.size(), 4U);
  EXPECT_TRUE(server.HasAccepted(4));
  for (std::size_t i = 0; i < 4; ++i) {
    clients[i]->Close();
    EXPECT_EQ(clients[i + 4]->ReadExactly(1), "x");
  }
}

TEST(Limits, ASlowHeadEnds) {
  TestServer server(Echo);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET http://a.test/ HTTP/1.1\r\n", "HTTP/1.1 408 "}, {"\x05", ""}, {"", ""}};
  for (const auto& [sent, answer] : cases) {
    auto setup = Allowing({At("a.test", server.port())});
    setup.options.head_ms = 100;
    NetworkHost network(std::move(setup));
    Peer client("127.0.0.1", network.proxy_port());
    client.Send(sent);
    const Received received = client.ReadAll();
    EXPECT_FALSE(received.is_late);
    EXPECT_EQ(received.bytes.substr(0, answer.size()), answer);
    client.Close();
    EXPECT_TRUE(network.WaitUntil([&] { return network.events().size() == 1; }));
  }
}

TEST(Limits, BytesThatDripDoNotKeepAHeadAlive) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.options.head_ms = 200;
  setup.options.tls_ports = {server.port()};
  NetworkHost network(std::move(setup));
  Peer hello("127.1.0.1", server.port());
  hello.Send(std::string("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc", 9));
  Peer head("127.0.0.1", network.proxy_port());
  head.Send("GET http://a.test/");
  bool ended = false;
  for (int i = 0; i < 20'000 && !ended; ++i) {
    hello.Send("x");
    head.Send("x");
    ended = network.events().size() >= 2;
    network.On([] {});
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
}

// A head that is read in one turn by itself takes as many turns as its sandbox has shares to spend
// on it, also where other connections of the sandbox take some of them; in the end each is
// answered.
TEST(Limits, HeadsOfOneSandboxShareEachTurn) {
  constexpr std::size_t kShare = 500;
  constexpr std::size_t kHeadBytes = 20'000;
  constexpr std::size_t kClients = 8;
  for (const std::size_t share : {kShare, kShare * 1000}) {
    TestServer server(AnswerRequests);
    const std::string a = At("a.test", server.port());
    auto setup = Allowing({a});
    setup.options.head_share_bytes = share;
    NetworkHost network(std::move(setup));
    std::vector<Peer> clients;
    const std::uint64_t before = network.turns();
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.emplace_back("127.0.0.1", network.proxy_port());
      const std::string path = "/" + std::to_string(i);
      clients.back().Send(
          Get("http://" + a + path, a, "X: " + std::string(kHeadBytes, 'x') + "\r\n"));
    }
    for (std::size_t i = 0; i < kClients; ++i) {
      const std::string answer = ReadAnswer(&clients[i]);
      EXPECT_NE(answer.find("GET /" + std::to_string(i) + " "), std::string::npos);
    }
    const std::uint64_t turns = network.turns() - before;
    const std::uint64_t shares = kClients * kHeadBytes / kShare;
    EXPECT_EQ(turns >= shares, share == kShare) << turns;
  }
}

// Two sandboxes on one loop: what one floods its proxy with is read a share at a time, and the
// other's request is read in the same few turns as without the flood. Turns are counted, no time.
TEST(Limits, AFloodOfHeadsLeavesOtherSandboxesTheirTurns) {
  constexpr std::size_t kFlood = 48;
  constexpr std::size_t kHeadBytes = 20'000;
  constexpr std::size_t kHeadsInATurn = 2;
  for (const std::size_t share : {std::size_t{20} << 10U, std::size_t{16} << 20U}) {
    const auto setup = [share] {
      auto made = Allowing({"a.test:80"});
      made.options.head_share_bytes = share;
      return made;
    };
    NetworkHost flooded(setup());
    NetworkHost other(setup(), &flooded);
    std::vector<Peer> clients;
    std::uint64_t before = 0;
    flooded.On([&] {  // the loop sees them all at once
      for (std::size_t i = 0; i <= kFlood; ++i) {
        NetworkHost& network = i == kFlood ? other : flooded;
        clients.emplace_back("127.0.0.1", network.proxy_port());
        const std::string host = std::to_string(i) + ".test";  // refused, and recorded by its name
        clients.back().Send(
            Get("http://" + host + "/", host, "X: " + std::string(kHeadBytes, 'x') + "\r\n"));
      }
      before = flooded.Turn();
    });
    EXPECT_TRUE(flooded.WaitUntil([&] { return flooded.events().size() == kFlood; }));
    EXPECT_TRUE(flooded.WaitUntil([&] { return other.events().size() == 1; }));
    const std::vector<std::uint64_t> floods = flooded.event_turns();
    const std::uint64_t turn = other.event_turns().at(0);
    const auto read = static_cast<std::size_t>(
        std::count_if(floods.begin(), floods.end(), [turn](auto each) { return each <= turn; }));
    if (share < kFlood * kHeadBytes) {
      EXPECT_LE(turn, before + 4);
      EXPECT_LE(read, kHeadsInATurn * (turn - std::min(before, turn) + 4));
    } else {
      EXPECT_EQ(read, kFlood) << "the control";
    }
  }
}

// Each connection that is accepted takes its part of the share too.
TEST(Limits, ConnectionsOfOneSandboxShareEachTurn) {
  constexpr std::size_t kClients = 32;
  for (const std::size_t share : {std::size_t{1}, std::size_t{16} << 20U}) {
    auto setup = Allowing({"a.test:80"});
    setup.options.head_share_bytes = share;
    NetworkHost network(std::move(setup));
    std::vector<Peer> clients;
    const std::uint64_t before = network.turns();
    network.On([&] {  // the loop sees them all at once
      for (std::size_t i = 0; i < kClients; ++i)
        clients.emplace_back("127.0.0.1", network.proxy_port());
    });
    std::size_t accepted = 0;
    for (int turn = 0; turn < 1000 && accepted < kClients; ++turn)
      accepted = network.size();
    EXPECT_EQ(accepted, kClients);
    EXPECT_EQ(network.turns() - before >= kClients, share == 1);
  }
}

TEST(Limits, HeadsThatWaitForTheirShareAreRecordedWhenTheCommandEnds) {
  constexpr std::size_t kClients = 8;
  auto setup = Allowing({"a.test:80"});
  setup.options.head_share_bytes = 100;
  NetworkHost network(std::move(setup));
  std::vector<Peer> clients;
  network.On([&] {  // the loop sees them all at once
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.emplace_back("127.0.0.1", network.proxy_port());
      clients.back().Send(
          Get("http://b.test/", "b.test", "X: " + std::string(20'000, 'x') + "\r\n"));
    }
  });
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].host, "b.test");
  EXPECT_EQ(log.connections[0].count, kClients);
}

TEST(Limits, AHeadThatIsTooLongIsAnsweredThoughItsClientSendsOn) {
  NetworkHost network(Allowing({"a.test:80"}));
  Peer client("127.0.0.1", network.proxy_port());
  client.Send("GET http://a.test/ HTTP/1.1\r\nX: " + std::string(std::size_t{2} << 20U, 'x'));
  client.ShutWrite();
  const Received received = client.ReadAll();
  EXPECT_TRUE(received.bytes.starts_with("HTTP/1.1 431 ")) << received.bytes;
  EXPECT_FALSE(received.is_reset || received.is_late);
}

TEST(Limits, AnIdleRelayEndsAndIsSaid) {
  TestServer server(Echo);
  auto setup = Allowing({At("a.test", server.port())});
  setup.options.idle_ms = 100;
  NetworkHost network(std::move(setup));
  Peer client("127.1.0.1", server.port());
  client.Send("x");
  EXPECT_EQ(client.ReadExactly(1), "x");
  EXPECT_FALSE(client.ReadAll().is_late);
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_EQ(log.connections[0].reason, "nothing came for too long");
  EXPECT_EQ(log.connections[0].bytes_out, 1U);
}

TEST(Limits, WithoutDescriptorsAClientIsRefusedAndLaterOnesAreServed) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor client_socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress at({.address = IpAddress::V4(0x7f010001), .port = server.port()});
  // Every number below the limit is taken, and no other may be had.
  std::vector<Descriptor> taken;
  taken.emplace_back(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int highest = HighestDescriptor();
  while (taken.back().get() <= highest)
    taken.emplace_back(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(taken.back().get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool is_connected = connect(client_socket.get(), at.get(), at.size) == 0;
  EXPECT_TRUE(is_connected || errno == ECONNRESET) << strerror(errno);
  const bool is_refused = network.WaitUntil([&] { return !network.events().empty(); });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  taken.clear();
  ASSERT_TRUE(is_refused);
  EXPECT_EQ(network.events().at(0).second.reason, "the host has no descriptors left");
  EXPECT_TRUE(server.HasAccepted(0));
  Peer later("127.1.0.1", server.port());
  later.Send("x");
  EXPECT_EQ(later.ReadExactly(1), "x");
}

TEST(Limits, CommandsLeaveTheProgramDescriptors) {
  TestServer server(Echo);
  NetworkHost network(Allowing({At("a.test", server.port())}));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor last(open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(last.get()) + 80;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Peer> clients;
  bool is_refused = false;
  // Each connection takes four descriptors in this process, which is also the sandbox and the host.
  for (int i = 0; i < 80 && !is_refused; ++i) {
    clients.emplace_back("127.1.0.1", server.port());
    if (!clients.back().connected()) break;
    clients.back().Send("x");
    is_refused = clients.back().ReadExactly(1).empty();
  }
  std::vector<Descriptor> own;
  for (int i = 0; i < 10; ++i)
    own.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(own.back().valid());
  EXPECT_TRUE(is_refused);
  EXPECT_GT(clients.size(), 5U);
  bool is_said = false;
  for (const ConnectionRecord& record : network.Leave().connections) {
    is_said = is_said || record.reason == "the host has no descriptors left" ||
              record.reason.ends_with("Too many open files");
  }
  EXPECT_TRUE(is_said);
}

}  // namespace
}  // namespace native_runner
