#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "supervise/os/descriptor.h"
#include "supervise/os/process.h"

namespace native_runner {
namespace {

Descriptor PidfdOf(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// A socket that is bound to a free port of the loopback, which listens when asked to.
class Bound {
 public:
  explicit Bound(int family) : socket_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage address{};
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (family == AF_INET) {
      auto* const in = reinterpret_cast<sockaddr_in*>(&address);
      in->sin_family = AF_INET;
      in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      auto* const in6 = reinterpret_cast<sockaddr_in6*>(&address);
      in6->sin6_family = AF_INET6;
      in6->sin6_addr = in6addr_loopback;
    }
    if (bind(socket_.get(), any, size) != 0 || getsockname(socket_.get(), any, &size) != 0) return;
    port_ = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                    : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  }
  bool Listen() const { return listen(socket_.get(), 1) == 0; }
  std::uint16_t port() const { return port_; }  // 0: there is no such loopback

 private:
  Descriptor socket_;
  std::uint16_t port_ = 0;
};

class NetTable : public testing::TestWithParam<int> {};

TEST_P(NetTable, TellsWhenAPortListens) {
  const Bound bound(GetParam());
  if (bound.port() == 0) GTEST_SKIP() << "this host has no such loopback";
  const Descriptor self = PidfdOf(getpid());
  const auto before = ListensInNetworkOf(self.get(), bound.port());
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_FALSE(before.value());
  ASSERT_TRUE(bound.Listen());
  const auto after = ListensInNetworkOf(self.get(), bound.port());
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_TRUE(after.value());
}

INSTANTIATE_TEST_SUITE_P(Families, NetTable, testing::Values(AF_INET, AF_INET6));

TEST(NetTable, TellsNothingOfAProcessThatHasEnded) {
  const Bound bound(AF_INET);
  ASSERT_TRUE(bound.Listen());
  SpawnOptions options;
  options.path = "/bin/sh";
  options.argv = {"sh", "-c", "exit 0"};
  auto child = Child::Spawn(std::move(options));
  ASSERT_TRUE(child) << child.error().message;
  const Descriptor pidfd(dup(child->pidfd()));
  while (!child->Reap())
    usleep(1000);
  const auto listens = ListensInNetworkOf(pidfd.get(), bound.port());
  ASSERT_TRUE(listens) << listens.error().message;
  EXPECT_FALSE(listens.value());
}

// An ending process loses its network before its pidfd reports the end. The test reads its table
// all the while, many times.
TEST(NetTable, TellsNothingOfAProcessThatIsEnding) {
  constexpr int kProcesses = 300;
  const Bound bound(AF_INET);
  for (int count = 0; count < kProcesses; ++count) {
    SpawnOptions options;
    options.path = "/bin/true";
    options.argv = {"true"};
    auto child = Child::Spawn(std::move(options));
    ASSERT_TRUE(child) << child.error().message;
    const Descriptor pidfd(dup(child->pidfd()));
    while (!child->Reap()) {
      const auto listens = ListensInNetworkOf(pidfd.get(), bound.port());
      ASSERT_TRUE(listens) << "process " << count << ": " << listens.error().message;
      EXPECT_FALSE(listens.value());
    }
  }
}

TEST(NetTable, IsAnErrorForWhatIsNoProcess) {
  const Descriptor none;
  EXPECT_FALSE(ListensInNetworkOf(none.get(), 80));
}

}  // namespace
}  // namespace native_runner
