// Signals that the host sends to the command of a live process.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

class SignalTest : public LauncherTest {
 protected:
  static OrderSpec Waiting(std::uint32_t flags) {
    const char* const script =
        "trap 'echo caught; exit 9' TERM; echo up; while :; do sleep 0.02; done";
    OrderSpec spec{.argv = {"/bin/sh", "-c", script}};
    spec.header.flags = flags;
    return spec;
  }
};

TEST_P(SignalTest, ReachesTheCommandsOwnGroup) {
  LauncherHost host(GetParam());
  host.SendOrder(Waiting(kOrderOwnSession));
  EXPECT_EQ(host.ReadOut(3), "up\n");
  host.SendSignal(SIGTERM);
  const RunResult result = host.Finish();
  ExpectExited(result, 9);
  EXPECT_EQ(result.out, "up\ncaught\n");
}

TEST_P(SignalTest, ReachesWhatIsInTheGroupButNotTheLauncher) {
  LauncherHost host(GetParam());
  OrderSpec spec{.argv = {"/bin/sh", "-c", "sleep 60 & echo up; wait"}};
  spec.header.flags = kOrderOwnSession;
  host.SendOrder(spec);
  EXPECT_EQ(host.ReadOut(3), "up\n");
  host.SendSignal(SIGKILL);
  const RunResult result = host.Finish();
  ASSERT_EQ(result.last().kind, ReportKind::kExited);
  EXPECT_TRUE(WIFSIGNALED(result.last().wait_status));
}

TEST_P(SignalTest, IsAKillWithoutAGroup) {
  LauncherHost host(GetParam());
  host.SendOrder(Waiting(0));
  EXPECT_EQ(host.ReadOut(3), "up\n");
  host.SendSignal(SIGTERM);
  const RunResult result = host.Finish();
  ASSERT_EQ(result.last().kind, ReportKind::kExited);
  ASSERT_TRUE(WIFSIGNALED(result.last().wait_status));
  EXPECT_EQ(WTERMSIG(result.last().wait_status), SIGKILL);
  EXPECT_EQ(result.out, "up\n");
}

TEST_P(SignalTest, WhatIsNoSignalIsAKill) {
  for (const char* const message : {"x", "s", "sxx"}) {
    LauncherHost host(GetParam());
    host.SendOrder(Waiting(kOrderOwnSession));
    EXPECT_EQ(host.ReadOut(3), "up\n");
    host.SendText(message);
    const RunResult result = host.Finish();
    ASSERT_EQ(result.last().kind, ReportKind::kExited) << message;
    ASSERT_TRUE(WIFSIGNALED(result.last().wait_status)) << message;
    EXPECT_EQ(WTERMSIG(result.last().wait_status), SIGKILL) << message;
  }
}

// The host must notice that the command has closed its input, so no other process may hold it.
TEST_P(SignalTest, TheInputOfALiveProcessIsTheCommandsAlone) {
  LauncherHost host(GetParam());
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC | O_NONBLOCK), 0);
  host.SendInput(input[0]);
  close(input[0]);
  OrderSpec spec{.argv = {"/bin/sh", "-c", "read -r line; exec <&-; echo closed; sleep 60"}};
  spec.header.flags = kOrderOwnSession;
  host.SendOrder(spec);
  ASSERT_EQ(write(input[1], "x\n", 2), 2);
  EXPECT_EQ(host.ReadOut(7), "closed\n");
  pollfd ends{input[1], 0, 0};
  EXPECT_EQ(poll(&ends, 1, 10'000), 1);
  EXPECT_NE(ends.revents & POLLERR, 0);
  close(input[1]);
  host.SendKill();
  EXPECT_EQ(host.Finish().last().kind, ReportKind::kExited);
}

INSTANTIATE_LAUNCHER_MODES(SignalTest);

}  // namespace
}  // namespace native_runner
