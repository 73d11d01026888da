#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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

TEST(Resolver, AnswersNobodyWhoHasGivenUp) {
  for (const bool is_forgotten : {false, true}) {
    uv_loop_t loop{};
    ASSERT_EQ(uv_loop_init(&loop), 0);
    const NetworkOptions options;
    auto resolver = std::make_unique<Resolver>(&loop, &options);
    std::vector<std::uint64_t> asked;
    for (int i = 0; i < 20; ++i)
      asked.push_back(resolver->Ask(*ParseHostName("localhost"), [](Resolver::Found) {
        ADD_FAILURE() << "nobody waits for it";
      }));
    if (is_forgotten) {
      for (const std::uint64_t question : asked)
        resolver->Forget(question);
    } else {
      resolver.reset();
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    resolver.reset();
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop), 0);
  }
}

TEST(Resolver, AnswersAllThatAsk) {
  constexpr int kAsked = 20;
  uv_loop_t loop{};
  ASSERT_EQ(uv_loop_init(&loop), 0);
  const NetworkOptions options;
  auto resolver = std::make_unique<Resolver>(&loop, &options);
  int found = 0;
  for (int i = 0; i < kAsked; ++i) {
    resolver->Ask(*ParseHostName("localhost"), [&](Resolver::Found answer) {
      EXPECT_FALSE(answer.addresses.empty()) << answer.fault;
      if (++found == kAsked) resolver.reset();  // the sandbox has ended
    });
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(found, kAsked);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

// A look-up counts until its answer was given, so that all of one turn are more than the bound.
TEST(Resolver, WaitsWhereTheProcessHasAsManyLookUpsAsItMayHave) {
  constexpr std::size_t kSandboxes = Resolver::kMostInProcess * 2;
  uv_loop_t loop{};
  ASSERT_EQ(uv_loop_init(&loop), 0);
  const NetworkOptions options;
  std::vector<std::unique_ptr<Resolver>> resolvers;
  std::size_t found = 0;
  for (std::size_t at = 0; at < kSandboxes; ++at) {
    resolvers.push_back(std::make_unique<Resolver>(&loop, &options));
    resolvers.back()->Ask(*ParseHostName("localhost"), [&found](Resolver::Found answer) {
      found += answer.addresses.empty() ? 0 : 1;
    });
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(found, kSandboxes);
  resolvers.clear();
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

// A sandbox may end between the end of a look-up and the turn that takes it. Were its place lost,
// nothing would be looked up any more after as many of them.
TEST(Resolver, ThatEndsWithAnAnswerUntakenFreesItsPlace) {
  uv_loop_t loop{};
  ASSERT_EQ(uv_loop_init(&loop), 0);
  const NetworkOptions options;
  uv_async_t first{};  // so that the loop watches for its asyncs from now on
  ASSERT_EQ(uv_async_init(&loop, &first, [](uv_async_t*) {}), 0);
  uv_run(&loop, UV_RUN_NOWAIT);
  for (std::size_t at = 0; at < Resolver::kMostInProcess; ++at) {
    auto resolver = std::make_unique<Resolver>(&loop, &options);
    resolver->Ask(*ParseHostName("localhost"),
                  [](Resolver::Found) { ADD_FAILURE() << "nobody waits for it"; });
    pollfd woken{.fd = uv_backend_fd(&loop), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&woken, 1, -1), 1);
    resolver.reset();
    uv_run(&loop, UV_RUN_NOWAIT);
  }
  std::size_t found = 0;
  auto last = std::make_unique<Resolver>(&loop, &options);
  last->Ask(*ParseHostName("localhost"),
            [&found](Resolver::Found answer) { found = answer.addresses.size(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(&first));
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_GT(found, 0U);
  last.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(&first), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

// Commands of the host's user may have taken all processes: libuv would end the process.
TEST(Resolver, SaysSoWhereNoThreadCanBeStarted) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobodys = 61'999;
    const rlimit none{0, 0};
    if (geteuid() == 0 && setresuid(kNobodys, kNobodys, kNobodys) != 0) _exit(1);
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(1);
    uv_loop_t loop{};
    if (uv_loop_init(&loop) != 0) _exit(2);
    const NetworkOptions options;
    Resolver resolver(&loop, &options);
    std::string fault;
    resolver.Ask(*ParseHostName("localhost"),
                 [&fault](Resolver::Found found) { fault = found.fault; });
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(fault == "it can't be resolved: resource temporarily unavailable" ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
