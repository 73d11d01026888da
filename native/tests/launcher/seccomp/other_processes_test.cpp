// The filters on top of the base one refuse sockets that reach others, and changes of other
// processes' limits and priorities. Each test has the same call without that filter as its control.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

constexpr std::uint32_t kBase = kOrderNoNewPrivs | kOrderSeccomp;

std::string Probe(Mode mode, std::vector<std::string> arguments, std::uint32_t flags) {
  arguments.insert(arguments.begin(), ProbePath());
  OrderSpec spec{.argv = std::move(arguments)};
  spec.header.flags = flags;
  const RunResult result = RunCommand(mode, spec);
  return result.out + result.err + result.last().text;
}

// A socket of the host's with a path.
class HostSocket {
 public:
  explicit HostSocket(int type)
      : path_(testing::TempDir() + "socket-" + std::to_string(getpid())),
        socket_(socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(type == SOCK_DGRAM || listen(socket_, 1) == 0);
  }
  ~HostSocket() {
    close(socket_);
    unlink(path_.c_str());
  }
  HostSocket(const HostSocket&) = delete;
  HostSocket& operator=(const HostSocket&) = delete;

  const std::string& path() const { return path_; }
  bool IsReached() const {
    pollfd entry{socket_, POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }

 private:
  std::string path_;
  int socket_;
};

class OtherSocketsTest : public LauncherTest {};

TEST_P(OtherSocketsTest, PairsAreOfTheTypesThatStayBetweenTheirEnds) {
  EXPECT_EQ(Probe(GetParam(), {"pairs"}, kBase), "1:1 1:1 1:2 1:2 1:3 1:3 1:5 1:5 ");
  EXPECT_EQ(Probe(GetParam(), {"pairs"}, kBase | kOrderNoSockets), "1:1 1:1 1:5 1:5 ");
}

// Not in a mount namespace of its own: the sockets' paths are to be there.
TEST(OtherSockets, AreOutOfReachOfAPair) {
  for (const int hosts : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      const HostSocket socket(hosts);
      const auto reached = [&](std::uint32_t flags) {
        Probe(Mode::kSubreaper, {"send", std::to_string(type), socket.path()}, flags);
        return socket.IsReached();
      };
      EXPECT_FALSE(reached(kBase | kOrderNoSockets)) << hosts << " from " << type;
      const bool is_datagram = type == SOCK_DGRAM || type == SOCK_RAW;
      EXPECT_EQ(reached(kBase), is_datagram && hosts == SOCK_DGRAM) << hosts << " from " << type;
    }
  }
}

class OtherProcessesTest : public LauncherTest {
 protected:
  static std::string Set(const char* what, const char* whose, std::uint32_t flags) {
    return Probe(GetParam(), {"set", what, whose}, kBase | flags);
  }
  // True if the command sees processes outside of its run, from which the filter keeps it.
  static bool SeesHost() { return GetParam() == Mode::kSubreaper; }
};

TEST_P(OtherProcessesTest, KeepTheirLimitsAndPriorities) {
  const std::string refused = std::to_string(EPERM) + "\n";
  for (const char* what : {"limit", "policy", "parameter", "attributes", "nice", "io"}) {
    EXPECT_EQ(Set(what, "other", 0), "0\n") << what << ", control";
    EXPECT_EQ(Set(what, "self", kOrderScoped), "0\n") << what;
    EXPECT_EQ(Set(what, "other", kOrderScoped), SeesHost() ? refused : "0\n") << what;
  }
  for (const char* what : {"nice", "io"}) {  // of a group that only the probe itself is in
    EXPECT_EQ(Set(what, "group", kOrderOwnSession), "0\n") << what << ", control";
    EXPECT_EQ(Set(what, "group", kOrderOwnSession | kOrderScoped), SeesHost() ? refused : "0\n")
        << what;
  }
}

INSTANTIATE_LAUNCHER_MODES(OtherSocketsTest);
INSTANTIATE_LAUNCHER_MODES(OtherProcessesTest);

}  // namespace
}  // namespace native_runner
