#include <gtest/gtest.h>
#include <uv.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "policy/network/ip_address.h"
#include "supervise/network/dialer.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

// Returns the proxy's answer and the record.
std::string StatusOf(NetworkHost* network, const std::string& whom) {
  Peer client("127.0.0.1", network->proxy_port());
  client.Send("CONNECT " + whom + " HTTP/1.1\r\n\r\n");
  return client.ReadTo("\r\n\r\n").bytes.substr(9, 3);
}

// Keeps all threads of libuv's busy until it goes.
class BusyThreads {
 public:
  BusyThreads() {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    for (Work& work : works_) {
      work.owner = this;
      work.request.data = &work;
      EXPECT_EQ(uv_queue_work(
                    &loop_, &work.request,
                    [](uv_work_t* request) {
                      BusyThreads* owner = static_cast<Work*>(request->data)->owner;
                      while (!owner->is_over_)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    },
                    [](uv_work_t*, int) {}),
                0);
    }
  }
  ~BusyThreads() {
    End();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  void End() { is_over_ = true; }
  bool is_over() const { return is_over_; }

 private:
  struct Work {
    uv_work_t request{};
    BusyThreads* owner = nullptr;
  };

  uv_loop_t loop_{};
  std::array<Work, 64> works_;
  std::atomic<bool> is_over_ = false;
};

TEST(Resolver, WhatHasNotBegunIsGivenUpWithWhoAsked) {
  for (const bool is_forgotten : {false, true}) {
    BusyThreads busy;
    // Bounds the wait: a thread that never comes would be waited for without end.
    std::thread patience([&busy] {
      for (int turn = 0; turn < Slow(2000) && !busy.is_over(); ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      busy.End();
    });
    uv_loop_t loop{};
    ASSERT_EQ(uv_loop_init(&loop), 0);
    const NetworkOptions options;
    auto resolver = std::make_unique<Resolver>(&loop, &options);
    const auto ask = [&resolver] {
      return resolver->Ask(*ParseHostName("localhost"),
                           [](Resolver::Found) { ADD_FAILURE() << "nobody waits for it"; });
    };
    std::vector<std::uint64_t> asked;
    for (int i = 0; i < 20; ++i)
      asked.push_back(ask());
    if (is_forgotten) {
      for (const std::uint64_t question : asked)
        resolver->Forget(question);
    } else {
      resolver.reset();
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_FALSE(busy.is_over()) << "it waited for a thread";
    busy.End();
    patience.join();
    resolver.reset();
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop), 0);
  }
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
