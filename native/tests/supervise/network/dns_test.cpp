#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "tests/policy/network/dns_message.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

constexpr std::uint16_t kText = 16;
constexpr std::uint16_t kHttps = 65;

Octets Asking(const std::string& name, std::uint16_t type) {
  return Header(1, 1) + Question(name, static_cast<std::uint8_t>(type));
}

// The answer by UDP; empty where none comes. `resends`: what is in the queue may have no room for
// it.
Octets Answered(NetworkHost* network, const Octets& question, bool resends = false) {
  const Descriptor socket = UdpAt("127.0.0.1", 0);
  const SocketAddress to({.address = IpAddress::V4(0x7f000001), .port = network->dns_udp_port()});
  pollfd asked = {.fd = socket.get(), .events = POLLIN, .revents = 0};
  for (int turn = 0; turn < (resends ? 300 : 1); ++turn) {
    EXPECT_GT(sendto(socket.get(), question.data(), question.size(), 0, to.get(), to.size), 0);
    if (poll(&asked, 1, resends ? 100 : 30'000) != 1) continue;
    Octets answer(2000);
    const ssize_t size = recv(socket.get(), answer.data(), answer.size(), 0);
    answer.resize(static_cast<std::size_t>(size));
    return answer;
  }
  return {};
}

int CodeOf(const Octets& answer) {
  return answer.size() < 12 ? -1 : answer[3] & 0x0f;
}

// The last four bytes where there is an answer.
std::string AddressOf(const Octets& answer) {
  if (answer.size() < 16 || answer[7] == 0) return "";
  const std::size_t at = answer.size() - 4;
  std::string text;
  for (std::size_t i = 0; i < 4; ++i)
    text += (i > 0 ? "." : "") + std::to_string(answer[at + i]);
  return text;
}

NetworkHost::Setup Rules() {
  static const Descriptor held = ListenAt("127.0.0.1", 0);  // so that the port is nobody else's
  const std::uint16_t port = PortOf(held);
  NetworkHost::Setup setup =
      Allowing({At("a.test", port), At("*.c.test", port), At("b.test", port)});
  setup.rules.deny = {"x.c.test"};
  return setup;
}

TEST(Dns, GivesAllowedNamesAddressesOfTheirOwn) {
  NetworkHost network(Rules());
  EXPECT_EQ(AddressOf(Answered(&network, Asking("a.test", 1))), "127.1.0.1");
  EXPECT_EQ(AddressOf(Answered(&network, Asking("B.Test", 1))), "127.1.0.2");
  EXPECT_EQ(AddressOf(Answered(&network, Asking("y.c.test", 1))), "127.1.0.3");
  EXPECT_EQ(AddressOf(Answered(&network, Asking("a.test", 1))), "127.1.0.1");
  EXPECT_EQ(AddressOf(Answered(&network, Asking("localhost", 1))), "127.0.0.1");
  EXPECT_TRUE(network.Leave().connections.empty());
}

TEST(Dns, OtherTypesOfAllowedNamesHaveNoData) {
  NetworkHost network(Rules());
  for (const std::uint16_t type : {kText, kHttps, kDnsTypeAaaa, std::uint16_t{255}}) {
    const Octets answer = Answered(&network, Asking("a.test", type));
    EXPECT_EQ(CodeOf(answer), 0) << type;
    EXPECT_EQ(answer.at(7), 0) << type;
  }
  EXPECT_TRUE(network.Leave().connections.empty());
}

TEST(Dns, OtherNamesAreNotThereAndRecorded) {
  NetworkHost network(Rules());
  const std::vector<std::string> names = {"evil.test", "x.c.test", "c.test", "test",
                                          "secret.evil.test"};
  for (const std::string& name : names) {
    EXPECT_EQ(CodeOf(Answered(&network, Asking(name, 1))), 3) << name;
    EXPECT_EQ(CodeOf(Answered(&network, Asking(name, kText))), 3) << name;
  }
  EXPECT_EQ(CodeOf(Answered(&network, Asking("1.0.1.127.in-addr.arpa", 12))), 3);
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), names.size());
  EXPECT_EQ(log.connections[0].host, "evil.test");
  EXPECT_EQ(log.connections[0].port, 0);
  EXPECT_EQ(log.connections[0].count, 2U);
  EXPECT_EQ(log.connections[0].reason, "no rule names it");
  EXPECT_EQ(log.connections[1].rule, "x.c.test");
}

TEST(Dns, WithoutACommandNoNameIsThere) {
  NetworkHost::Setup setup = Rules();
  setup.enters = false;
  NetworkHost network(std::move(setup));
  EXPECT_EQ(CodeOf(Answered(&network, Asking("a.test", 1))), 3);
  network.Enter({});
  EXPECT_EQ(CodeOf(Answered(&network, Asking("a.test", 1))), 0);
}

TEST(Dns, MayBeAskedByTcpSeveralTimes) {
  NetworkHost network(Rules());
  Peer client("127.0.0.1", network.dns_port());
  std::string all;
  for (const std::string name : {"a.test", "evil.test", "b.test"}) {
    const Octets question = Asking(name, 1);
    all += std::string{'\0', static_cast<char>(question.size())};
    all.append(question.begin(), question.end());
  }
  for (const char byte : all)
    client.Send({byte});
  std::vector<int> codes;
  for (int i = 0; i < 3; ++i) {
    const std::string size = client.ReadExactly(2);
    ASSERT_EQ(size.size(), 2U);
    const std::string rest = client.ReadExactly(static_cast<unsigned char>(size[1]));
    const Octets answer(rest.begin(), rest.end());
    codes.push_back(CodeOf(answer));
  }
  EXPECT_EQ(codes, (std::vector<int>{0, 3, 0}));
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "");
}

TEST(Dns, ManyQuestionsMayBeAskedByTcpAtOnce) {
  constexpr int kQuestions = 500;
  NetworkHost network(Rules());
  Peer client("127.0.0.1", network.dns_port());
  const Octets question = Asking("a.test", 1);
  std::string all;
  for (int i = 0; i < kQuestions; ++i) {
    all += std::string{'\0', static_cast<char>(question.size())};
    all.append(question.begin(), question.end());
  }
  client.Send(all);
  client.ShutWrite();
  int answers = 0;
  for (std::string size = client.ReadExactly(2); size.size() == 2; size = client.ReadExactly(2)) {
    const std::string rest = client.ReadExactly(static_cast<unsigned char>(size[1]));
    EXPECT_EQ(CodeOf(Octets(rest.begin(), rest.end())), 0);
    ++answers;
  }
  EXPECT_EQ(answers, kQuestions);
}

TEST(Dns, AHundredThousandQuestionsAreBounded) {
  NetworkHost network(Rules());
  const Descriptor socket = UdpAt("127.0.0.1", 0);
  const SocketAddress to({.address = IpAddress::V4(0x7f000001), .port = network.dns_udp_port()});
  constexpr int kQuestions = 100'000;
  constexpr int kAtOnce = 64;
  int answers = 0;
  int dropped = 0;  // batches of which one has no answer, as UDP may
  Octets answer(2000);
  for (int i = 0; i < kQuestions; ++i) {
    // Half of them below a wildcard, which may have addresses, until there are no more.
    const std::string name = "q" + std::to_string(i) + (i % 2 == 0 ? ".evil.test" : ".c.test");
    const Octets question = Asking(name, 1);
    sendto(socket.get(), question.data(), question.size(), 0, to.get(), to.size);
    if (i % kAtOnce != kAtOnce - 1 || dropped > 100) continue;
    int left = kAtOnce;
    pollfd asked = {.fd = socket.get(), .events = POLLIN, .revents = 0};
    while (left > 0 && poll(&asked, 1, 500) > 0) {
      while (recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0)
        --left;
    }
    answers += kAtOnce - left;
    if (left > 0) ++dropped;
  }
  EXPECT_GT(answers, kQuestions / 4);
  EXPECT_EQ(AddressOf(Answered(&network, Asking("a.test", 1), true)), "127.1.0.1");
  EXPECT_EQ(AddressOf(Answered(&network, Asking("b.test", 1), true)), "127.1.0.2");
  const ConnectionLog log = network.Leave();
  EXPECT_EQ(log.connections.size(), kMostConnectionRecords);
  EXPECT_GT(log.omitted, 0U);
}

}  // namespace
}  // namespace native_runner
