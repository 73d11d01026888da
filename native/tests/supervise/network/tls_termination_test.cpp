#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "supervise/network/tunnel.h"
#include "tests/policy/network/made_client_hello.h"
#include "tests/supervise/network/support/http.h"
#include "tests/supervise/network/support/network_host.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kRun = 42;

std::string GreetingFor(const std::string& name) {
  const TlsBytes bytes = Records(HelloMessage(HelloBody(ServerName(name))), 16384);
  return {bytes.begin(), bytes.end()};
}

// A connection as the terminator gets it.
struct HandedOver {
  Peer client;
  Peer host;
  std::uint64_t run = 0;
  std::uint16_t port = 0;
  std::string via;
  std::string name;
};

// Makes the sockets blocking, as those of a test are.
Peer PeerOf(int number) {
  fcntl(number, F_SETFL, 0);
  return Peer(Descriptor(number));
}

// The terminator's end of a channel.
class Terminator {
 public:
  Terminator() : ends_(std::move(MakeTerminatorChannel().value())) {
    fcntl(ends_.theirs.get(), F_SETFL, 0);
  }

  int channel() const { return ends_.ours.get(); }
  void Leave() { ends_.theirs.Close(); }
  bool HasNone() const {
    char byte = 0;
    return recv(ends_.theirs.get(), &byte, 1, MSG_DONTWAIT) < 0;
  }
  // Waits for the next one.
  HandedOver Take() {
    std::string line;
    for (char byte = 0; byte != '\n' && read(ends_.theirs.get(), &byte, 1) == 1;)
      line += byte;
    std::istringstream words(line);
    int client = -1;
    int host = -1;
    std::uint64_t run = 0;
    std::uint16_t port = 0;
    std::string name;
    std::string via;
    words >> client >> host >> run >> port >> via >> name;
    return {PeerOf(client), PeerOf(host), run, port, via, name};
  }

 private:
  TerminatorEnds ends_;
};

NetworkHost::Setup Ending(const Terminator& terminator, std::uint16_t port, bool is_plain = false) {
  auto termination = std::make_shared<TlsTermination>();
  const HostRule rule = ReadHostRule(At("a.test", port), "hosts").value();
  (is_plain ? termination->plain : termination->hosts).push_back(rule);
  termination->channel = terminator.channel();
  termination->trust = std::make_shared<CurrentTrust>();
  auto setup = Allowing({At("a.test", port), At("b.test", port)});
  setup.termination = std::move(termination);
  setup.terminator_run = kRun;
  return setup;
}

std::string ReasonOf(NetworkHost* network) {
  const ConnectionLog log = network->Leave();
  return log.connections.empty() ? "(none)" : log.connections[0].reason;
}

TEST(TlsTerminated, IsHandedOverWithAConnectionToItsHost) {
  Terminator terminator;
  TestServer server(Echo);
  NetworkHost network(Ending(terminator, server.port()));
  Peer client("127.1.0.1", server.port());
  const std::string hello = GreetingFor("a.test");
  client.Send(hello);
  HandedOver taken = terminator.Take();
  EXPECT_EQ(taken.run, kRun);
  EXPECT_EQ(taken.port, server.port());
  EXPECT_EQ(taken.via, "transparent");
  EXPECT_EQ(taken.name, "a.test");
  EXPECT_EQ(taken.client.ReadExactly(hello.size()), hello);
  taken.host.Send("to the host");
  EXPECT_EQ(taken.host.ReadExactly(11), "to the host");
  taken.client.Send("to the client");
  EXPECT_EQ(client.ReadExactly(13), "to the client");
  taken.client.Close();
  EXPECT_EQ(client.ReadAll().bytes, "");
  client.Close();
  ASSERT_TRUE(network.WaitUntil([&] { return network.events().size() == 2; }));
  const ConnectionLog log = network.Leave();
  ASSERT_EQ(log.connections.size(), 1U);
  EXPECT_TRUE(log.connections[0].allowed);
  EXPECT_EQ(log.connections[0].bytes_out, hello.size());
  EXPECT_EQ(log.connections[0].bytes_in, 13U);
}

TEST(TlsTerminated, ByTheProxyToo) {
  Terminator terminator;
  TestServer server(Echo);
  NetworkHost network(Ending(terminator, server.port()));
  Peer client("127.0.0.1", network.proxy_port());
  const std::string authority = At("a.test", server.port());
  client.Send("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + kHeadEnd);
  EXPECT_TRUE(client.ReadTo(kHeadEnd).bytes.starts_with("HTTP/1.1 200"));
  const std::string hello = GreetingFor("a.test");
  client.Send(hello);
  EXPECT_EQ(terminator.Take().client.ReadExactly(hello.size()), hello);
}

TEST(TlsTerminated, EndsWithTheCommand) {
  Terminator terminator;
  TestServer server(Echo);
  NetworkHost network(Ending(terminator, server.port()));
  Peer client("127.1.0.1", server.port());
  client.Send(GreetingFor("a.test"));
  HandedOver taken = terminator.Take();
  network.Leave();
  EXPECT_FALSE(taken.client.ReadAll().is_late);
  EXPECT_FALSE(client.ReadAll().is_late);
}

TEST(TlsTerminated, OtherHostsAreRelayed) {
  Terminator terminator;
  TestServer server(Echo);
  auto setup = Ending(terminator, server.port());
  setup.transparent = "127.1.0.2";  // the second name's
  NetworkHost network(std::move(setup));
  Peer client("127.1.0.2", server.port());
  client.Send("x");
  client.ShutWrite();
  EXPECT_EQ(client.ReadAll().bytes, "x");
  EXPECT_TRUE(terminator.HasNone());
}

TEST(TlsTerminated, IsNeverLetThroughUnlookedAt) {
  struct Case {
    const char* name;
    std::string sent;
    std::uint64_t run;
    bool is_there;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {"no TLS", "GET / HTTP/1.1\r\n\r\n", kRun, true, "it is not TLS"},
      {"another name", GreetingFor("b.test"), kRun, true, "its TLS names b.test"},
      {"no run", GreetingFor("a.test"), 0, true, "nothing on the host ends its TLS"},
      {"no terminator", GreetingFor("a.test"), kRun, false, "nothing on the host ends its TLS"},
  };
  for (const Case& one : cases) {
    Terminator terminator;
    TestServer server(Echo);
    auto setup = Ending(terminator, server.port());
    setup.terminator_run = one.run;
    if (!one.is_there) terminator.Leave();
    NetworkHost network(std::move(setup));
    Peer client("127.1.0.1", server.port());
    client.Send(one.sent);
    EXPECT_EQ(client.ReadAll().bytes, "") << one.name;
    EXPECT_EQ(ReasonOf(&network), one.reason) << one.name;
    EXPECT_TRUE(!one.is_there || terminator.HasNone()) << one.name;
  }
}

constexpr char kTakesHttps[] = "there are secrets or rules for its requests, which take https";

TEST(TlsTerminated, PlainHttpIsRefusedWhereRequestsAreRuled) {
  Terminator terminator;
  TestServer server(AnswerRequests);
  auto plain = Ending(terminator, server.port(), true);
  plain.options.http_ports = {server.port()};
  NetworkHost network(std::move(plain));
  Peer client("127.1.0.1", server.port());
  client.Send(Get("/", At("a.test", server.port())));
  EXPECT_TRUE(client.ReadAll().bytes.empty());
  EXPECT_EQ(ReasonOf(&network), kTakesHttps);
}

TEST(TlsTerminated, PlainHttpToItsPortIsRefusedByTheProxy) {
  Terminator terminator;
  TestServer server(AnswerRequests);
  NetworkHost network(Ending(terminator, server.port()));
  Peer client("127.0.0.1", network.proxy_port());
  const std::string authority = At("a.test", server.port());
  client.Send(Get("http://" + authority + "/", authority));
  EXPECT_TRUE(ReadAnswer(&client).starts_with("HTTP/1.1 403"));
  EXPECT_EQ(ReasonOf(&network), kTakesHttps);
}

}  // namespace
}  // namespace native_runner
