// The network of a sandbox by domain, as a launcher makes it (protocol/order.h).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policy/network/dns.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/transaction/mounted_workspace.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/requests.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;
using Sockets = std::vector<Descriptor>;

NetworkRules RulesOf(Texts allow) {
  auto rules = ReadNetworkRules({std::move(allow), {}, {}, false});
  EXPECT_TRUE(rules) << rules.error().message;
  return std::move(*rules);
}

int OptionOf(const Descriptor& socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(getsockopt(socket.get(), level, option, &value, &size), 0);
  return value;
}

std::uint64_t CookieOf(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  getsockopt(socket, SOL_SOCKET, kNetworkCookieOption, &cookie, &size);
  return cookie;
}

int BoundPort(const Descriptor& socket) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin6_port);  // where sockaddr_in has it too
}

Result<Sockets> MakeSockets(const Texts& steps) {
  return MakeNamespaces(LauncherPath(), steps);
}

class NetworkStepsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = MakeSockets({Namespace()});
    if (!made) GTEST_SKIP() << "no network can be made here: " << made.error().message;
  }

  static bool with_user() { return geteuid() != 0; }
  static std::string Namespace() {
    return std::string(1, kStepNetworkNamespace) + (with_user() ? "u" : "");
  }

  static std::string Refusal(const Texts& steps) {
    auto made = MakeSockets(steps);
    return made ? "nothing was refused" : made.error().message;
  }
};

TEST_F(NetworkStepsTest, HandOverTheListenersInTheirOrder) {
  const int open_before = CountDescriptors();
  for (const Texts& allow : {Texts{}, Texts{"a.test"}, Texts{"a.test:22", "*.b.test:65535"}}) {
    const NetworkRules rules = RulesOf(allow);
    auto made = MakeSockets(NetworkSteps(rules, with_user()));
    ASSERT_TRUE(made) << made.error().message;
    const auto wanted = ListenersOf(rules);
    ASSERT_EQ(made->size(), wanted.size());
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      const Descriptor& socket = made->at(at);
      const bool is_tcp = wanted[at].kind == SandboxListener::Kind::kTcp;
      EXPECT_EQ(BoundPort(socket), wanted[at].port);
      EXPECT_EQ(OptionOf(socket, SOL_SOCKET, SO_TYPE), is_tcp ? SOCK_STREAM : SOCK_DGRAM);
      EXPECT_EQ(OptionOf(socket, SOL_SOCKET, SO_ACCEPTCONN), is_tcp ? 1 : 0);
      EXPECT_NE(fcntl(socket.get(), F_GETFL) & O_NONBLOCK, 0);
      EXPECT_NE(fcntl(socket.get(), F_GETFD) & FD_CLOEXEC, 0);
    }
  }
  EXPECT_EQ(CountDescriptors(), open_before);
}

TEST_F(NetworkStepsTest, AsManyListenersAsThereMayBe) {
  Texts allow;
  for (std::size_t at = 0; at < kMostPorts; ++at)
    allow.push_back("a.test:" + std::to_string(1000 + at));
  auto made = MakeSockets(NetworkSteps(RulesOf(allow), with_user()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size(), kMostPorts + 3);
}

TEST_F(NetworkStepsTest, TheNetworkIsNotOursAndNotTheNextOnes) {
  const Descriptor own(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (CookieOf(own.get()) == 0) GTEST_SKIP() << "this kernel numbers no networks";
  const Texts steps = NetworkSteps(RulesOf({"a.test"}), with_user());
  auto one = MakeSockets(steps);
  auto another = MakeSockets(steps);
  ASSERT_TRUE(one && another);
  for (const Descriptor& listener : *one) {
    EXPECT_EQ(CookieOf(listener.get()), CookieOf(one->front().get()));
    EXPECT_NE(CookieOf(listener.get()), CookieOf(own.get()));
    EXPECT_NE(CookieOf(listener.get()), CookieOf(another->front().get()));
  }
}

TEST_F(NetworkStepsTest, TcpListensForBothProtocolsWhereThereAreTwo) {
  const bool has_v6 = Descriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).valid();
  auto made = MakeSockets(NetworkSteps(RulesOf({}), with_user()));
  ASSERT_TRUE(made) << made.error().message;
  const Descriptor& listener = made->front();
  EXPECT_EQ(OptionOf(listener, SOL_SOCKET, SO_DOMAIN), has_v6 ? AF_INET6 : AF_INET);
  if (has_v6) {
    EXPECT_EQ(OptionOf(listener, IPPROTO_IPV6, IPV6_V6ONLY), 0);
  }
}

TEST_F(NetworkStepsTest, AStepThatCannotBeTakenIsNamed) {
  const auto with = [](const std::string& step) { return Refusal({Namespace(), step}); };
  EXPECT_EQ(with("p53,53"), "network-by-domain: port 53: Address already in use");
  EXPECT_EQ(with("pu53,u53"), "network-by-domain: port 53 of UDP: Address already in use");
  EXPECT_EQ(with("p53,u53"), "nothing was refused");
  for (const char* step : {"p", "p0", "p65536", "p53,", "p,53", "pu", "p53 80", "p-1", "px"})
    EXPECT_EQ(with(step), "the order has a step without a port: Invalid argument") << step;
  EXPECT_EQ(with("b112:fd000000000000000000000000000000"), "nothing was refused");
  for (const char* step :
       {"b", "b112", "b112:", "b129:fd000000000000000000000000000000",
        "b112:fd00000000000000000000000000000", "b112:FD000000000000000000000000000000",
        "b112:fd0000000000000000000000000000000", "b:fd000000000000000000000000000000"})
    EXPECT_EQ(with(step), "the order has a step without a block: Invalid argument") << step;
  EXPECT_EQ(Refusal({"nx"}), "the order has a step that can't be taken: Invalid argument");
  EXPECT_EQ(Refusal({"nux"}), "the order has a step that can't be taken: Invalid argument");
}

TEST_F(NetworkStepsTest, WithoutTheRightToMakeOneItIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may";
  EXPECT_EQ(Refusal({"n"}), "network-namespace: Operation not permitted");
}

}  // namespace
}  // namespace native_runner
