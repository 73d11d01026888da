// Nothing of a command's tree may be left, however a run ends.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>

#include "tests/launcher/support/launcher_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

constexpr int kTreeLines = 6;

class TreeTest : public LauncherTest {
 protected:
  // Waits until the probe's tree stands; its pids, which are ours only without a pid namespace.
  static std::vector<pid_t> AwaitTree(LauncherHost* host, int lines) {
    std::string out;
    while (std::count(out.begin(), out.end(), '\n') < lines) {
      const std::size_t before = out.size();
      out = host->ReadOut(before + 1);
      if (out.size() == before) break;
    }
    std::istringstream words(out);
    std::vector<pid_t> pids;
    std::string kind;
    for (pid_t pid = 0; words >> kind >> pid;)
      pids.push_back(pid);
    return pids;
  }

  static void ExpectGone(const std::vector<pid_t>& pids) {
    if (GetParam() == Mode::kInit) return;  // other numbers in there: the closed pipe is the proof
    for (const pid_t pid : pids) {
      EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH) << pid;
    }
  }
};

// The control of all tests below: such a tree outlives its parent if no launcher ends it.
TEST(TreeControlTest, TheProbesTreeOutlivesItsParent) {
  FILE* probe = popen((ProbePath() + " tree").c_str(), "r");
  ASSERT_NE(probe, nullptr);
  std::vector<pid_t> pids;
  char kind[32];
  for (int pid = 0; pids.size() < kTreeLines && fscanf(probe, "%31s %d", kind, &pid) == 2;) {
    pids.push_back(pid);
  }
  ASSERT_EQ(pids.size(), std::size_t{kTreeLines});
  usleep(100'000);
  for (const pid_t pid : pids)
    EXPECT_EQ(kill(pid, 0), 0) << pid;
  for (const pid_t pid : pids)
    kill(pid, SIGKILL);
  pclose(probe);
}

TEST_P(TreeTest, IsGoneWhenTheCommandEnds) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {"/bin/sh", "-c", ProbePath() + " tree; sleep 0.2; exit 7"}});
  const auto pids = AwaitTree(&host, kTreeLines);
  ASSERT_EQ(pids.size(), std::size_t{kTreeLines});
  ExpectExited(host.Finish(), 7);
  ExpectGone(pids);
}

TEST_P(TreeTest, IsGoneWhenTheHostAsksForAnEnd) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {ProbePath(), "tree-stay"}});
  const auto pids = AwaitTree(&host, kTreeLines + 1);
  ASSERT_EQ(pids.size(), std::size_t{kTreeLines + 1});
  host.SendKill();
  const auto ready = host.Receive();
  const auto exited = host.Receive();
  ASSERT_TRUE(ready && exited);
  EXPECT_EQ(exited->kind, ReportKind::kExited);
  EXPECT_TRUE(WIFSIGNALED(exited->wait_status));
  EXPECT_EQ(WTERMSIG(exited->wait_status), SIGKILL);
  ExpectGone(pids);
  EXPECT_TRUE(host.OutputEnds(1000));
}

TEST_P(TreeTest, IsGoneWhenTheHostIsGone) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {ProbePath(), "tree-stay"}});
  const auto pids = AwaitTree(&host, kTreeLines + 1);
  EXPECT_FALSE(host.OutputEnds(50)) << "the control: somebody holds it while the tree stands";
  host.CloseChannel();
  EXPECT_TRUE(host.OutputEnds(3000));
  ExpectGone(pids);
}

TEST_P(TreeTest, IsGoneWhenTheHostGoesAtAnyMoment) {
  for (int delay_us = 0; delay_us <= 8000; delay_us += 400) {
    LauncherHost host(GetParam());
    host.SendOrder({.argv = {ProbePath(), "tree-stay"}});
    usleep(static_cast<useconds_t>(delay_us));
    host.CloseChannel();
    EXPECT_TRUE(host.OutputEnds(3000)) << delay_us;
  }
}

TEST_P(TreeTest, AKillBeforeTheStartStillGivesOneLastReport) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {"/bin/sleep", "30"}});
  host.SendKill();
  const RunResult result = host.Finish();
  EXPECT_EQ(result.last().kind, ReportKind::kExited);
  EXPECT_TRUE(WIFSIGNALED(result.last().wait_status));
}

TEST_P(TreeTest, AKillThatCrossesWithTheEndLosesNoReport) {
  for (int i = 0; i < 30; ++i) {
    LauncherHost host(GetParam());
    host.SendOrder({.argv = {"/bin/true"}});
    usleep(static_cast<useconds_t>(1000 + i * 100));
    host.SendKill();
    EXPECT_EQ(host.Finish().last().kind, ReportKind::kExited);
  }
}

TEST_P(TreeTest, ProcessesThatForkOnAndOnAreCaught) {
  for (const char* how : {"comets", "comets-stay"}) {
    LauncherHost host(GetParam());
    const auto start = std::chrono::steady_clock::now();
    host.SendOrder({.argv = {ProbePath(), how}});
    host.ReadOut(7);
    if (std::string(how) == "comets-stay") host.SendKill();
    const RunResult result = host.Finish();
    EXPECT_EQ(result.last().kind, ReportKind::kExited);
    EXPECT_EQ(result.last().error, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(Slow(5))) << how;
  }
}

TEST_P(TreeTest, OrphansAreReapedWhileTheCommandRuns) {
  const RunResult result = Shell(
      "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.1' &); done; sleep 0.5;"
      "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ' Z '$(cut -d' ' -f4 /proc/$$/stat)' '");
  EXPECT_EQ(result.out, "0\n");
}

TEST_P(TreeTest, ADeafCommandIsKilled) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {"/bin/sh", "-c", "trap '' TERM INT HUP; echo up; kill -STOP $$"}});
  host.ReadOut(3);
  host.SendKill();
  EXPECT_EQ(WTERMSIG(host.Finish().last().wait_status), SIGKILL);
}

INSTANTIATE_LAUNCHER_MODES(TreeTest);

}  // namespace
}  // namespace native_runner
