// Which attributes a command inherits, and what it can see of the launcher.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

class InheritanceTest : public LauncherTest {};

TEST_P(InheritanceTest, OnlyTheThreeStandardDescriptors) {
  const int leaked = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  LauncherHost host(GetParam(), leaked);
  host.SendOrder({.argv = {ProbePath(), "fds"}});
  EXPECT_EQ(host.Finish().out, "0 1 2 ");
  close(leaked);
}

// Positive control: the same probe shows a leak where there is one.
TEST_P(InheritanceTest, TheProbeWouldShowALeak) {
  const RunResult result = Shell("exec 9</etc/passwd; exec " + ProbePath() + " fds");
  EXPECT_EQ(result.out, "0 1 2 9 ");
}

TEST_P(InheritanceTest, DefaultSignals) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as in Node
  EXPECT_EQ(Run({.argv = {ProbePath(), "signals"}}).out, "");
  std::signal(SIGPIPE, before);
  EXPECT_EQ(Shell("trap '' HUP; exec " + ProbePath() + " signals").out, "ignored 1 ");
}

TEST_P(InheritanceTest, NeitherStdinNorTheLauncherCanBeReadBack) {
  // Nothing is hidden from root without a user namespace: the promise is the sandbox's.
  if (GetParam() == Mode::kSubreaper && geteuid() == 0) GTEST_SKIP() << "root may look anywhere";
  const RunResult result = Shell(
      "p=$(cut -d' ' -f4 /proc/$$/stat); cat /proc/$p/comm; ls /proc/$p/fd 2>&1 >/dev/null;"
      "readlink /proc/$p/exe; cat /proc/$p/environ /proc/$p/maps 2>&1; readlink /proc/$$/exe");
  EXPECT_EQ(result.out.substr(0, 9), "launcher\n");
  EXPECT_NE(result.out.find("Permission denied"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("r-xp"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("/bin/"), std::string::npos) << "the control: our own can be read";
}

TEST_P(InheritanceTest, ReadyBringsAPidfdOfTheLauncher) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {"/bin/sleep", "0.3"}});
  const auto ready = host.Receive();
  ASSERT_TRUE(ready.has_value());
  EXPECT_EQ(ready->kind, ReportKind::kReady);
  ASSERT_GE(host.pidfd(), 0) << "pidfd_open(2) needs Linux 5.3";
  pollfd launcher{host.pidfd(), POLLIN, 0};
  EXPECT_EQ(poll(&launcher, 1, 0), 0);
  ExpectExited(host.Finish(), 0);
  EXPECT_EQ(poll(&launcher, 1, 1000), 1);
}

INSTANTIATE_LAUNCHER_MODES(InheritanceTest);

}  // namespace
}  // namespace native_runner
