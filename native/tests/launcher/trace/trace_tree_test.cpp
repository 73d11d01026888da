// A traced tree behaves as an untraced one.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/launcher/trace/trace_fixture.h"

namespace native_runner {
namespace {

class TraceTreeTest : public LauncherTest {};

TEST_P(TraceTreeTest, FollowsThreads) {
  const RunResult result = Run(TracedProbe("threads"));
  ExpectExited(result, 0);
  for (int number = 0; number < 8; ++number) {
    const Observation* seen =
        FindObservation(result, "openat", "/no-such-directory/thread-" + std::to_string(number));
    ASSERT_NE(seen, nullptr) << number;
    EXPECT_EQ(seen->count, 20u) << number;
  }
}

TEST_P(TraceTreeTest, FollowsChildrenThatShareMemory) {
  const RunResult result = Run(TracedProbe("children"));
  ExpectExited(result, 0);
  EXPECT_NE(FindObservation(result, "execve", "/no-such-directory/vforked"), nullptr);
  EXPECT_NE(FindObservation(result, "execve", "/no-such-directory/spawned"), nullptr);
}

TEST_P(TraceTreeTest, FollowsAThreadThatExecutes) {
  const RunResult result = Run(TracedProbe("thread-executes"));
  ASSERT_EQ(result.last().kind, ReportKind::kExited);
  EXPECT_NE(FindObservation(result, "openat", "/no-such-directory/after"), nullptr);
}

// Output and status of each script are the same with and without tracing.
constexpr const char* kScripts[] = {
    "kill -TERM $$",
    "trap 'echo caught' USR1; kill -USR1 $$; echo after; exit 3",
    "sh -c 'kill -KILL $$'; echo $?; sh -c 'kill -SEGV $$'; echo $?",
    "sleep 0.05 & wait; echo done",
    "(exit 7); echo $?; false || echo or; yes | head -3",
    "exec sh -c 'echo replaced; exit 9'",
    "nproc",
    "i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done; echo $i",
    "sleep 60 & p=$!; kill -STOP $p; until grep -q '^State:.[Tt]' /proc/$p/status; do :; done; "
    "kill -CONT $p; until grep -q '^State:.S' /proc/$p/status; do :; done; echo runs; kill $p; "
    "wait $p; echo $?",
    "trap '' TERM; sh -c 'kill -TERM $PPID'; echo deaf",
    "sleep 0.2 & kill -CHLD $$; wait; echo waited",
    "timeout 0.1 sleep 10; echo $?",
};

TEST_P(TraceTreeTest, DoesAsUntraced) {
  for (const char* script : kScripts) {
    const RunResult untraced = Run(TracedShell(script, false));
    const RunResult traced = Run(TracedShell(script));
    ASSERT_EQ(untraced.last().kind, ReportKind::kExited) << script;
    ASSERT_EQ(traced.last().kind, ReportKind::kExited) << script << traced.last().text;
    EXPECT_EQ(traced.last().wait_status, untraced.last().wait_status) << script;
    EXPECT_EQ(traced.last().killed, untraced.last().killed) << script;
    EXPECT_EQ(traced.out, untraced.out) << script;
    EXPECT_GT(traced.last().user_cpu_us + traced.last().system_cpu_us, 0u) << script;
  }
}

// In a terminal's session, in which a parent notices that a group stops.
TEST_P(TraceTreeTest, StopsAndGoesOnByATerminalsSignals) {
  if (GetParam() == Mode::kInit) GTEST_SKIP() << "its bwrap has no terminals";
  for (const bool is_traced : {false, true}) {
    OrderSpec spec = TracedShell(
        "set -m; sleep 60 & p=$!; until grep -q sleep /proc/$p/comm; do sleep 0.01; done; "
        "kill -TSTP $p; "
        "until grep -q '^State:.[Tt]' /proc/$p/status; do sleep 0.01; done; "
        "kill -CONT $p; until grep -q '^State:.S' /proc/$p/status; do sleep 0.01; done; "
        "kill -KILL $p; exec sh -c 'exit 42'",
        is_traced);
    spec.header.flags |= kOrderOwnSession | kOrderTerminal;
    spec.header.terminal_columns = 80;
    spec.header.terminal_rows = 24;
    ExpectExited(Run(spec), 42);
  }
}

TEST_P(TraceTreeTest, EndsEveryKindOfProcess) {
  OrderSpec spec{.argv = {ProbePath(), "tree"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderExplain;
  const RunResult result = Run(spec);
  ExpectExited(result, 0);
  EXPECT_EQ(result.last().killed, 1u);
}

TEST_P(TraceTreeTest, EndsWhateverItWasDoing) {
  for (int round = 0; round < 30; ++round) {
    LauncherHost host(GetParam());
    host.SendOrder(TracedShell(
        "echo begun; while :; do cat /no-such-directory/x & /bin/true; (sleep 0.01; :) & done"));
    host.ReadOut(6);
    usleep(static_cast<useconds_t>(round * 1500));
    host.SendKill();
    const RunResult result = host.Finish();
    ASSERT_EQ(result.last().kind, ReportKind::kExited) << round;
    EXPECT_EQ(result.last().error, 0) << round;
  }
}

TEST_P(TraceTreeTest, TellsWhatCameBeforeItsEnd) {
  LauncherHost host(GetParam());
  host.SendOrder(TracedShell("cat /no-such-directory/before; echo begun; sleep 60"));
  host.ReadOut(6);
  host.SendKill();
  const RunResult result = host.Finish();
  EXPECT_NE(FindObservation(result, "openat", "/no-such-directory/before"), nullptr);
}

TEST_P(TraceTreeTest, DiesWithItsLauncher) {
  LauncherHost host(GetParam());
  host.SendOrder(TracedShell("echo begun; sleep 60 & sleep 61"));
  host.ReadOut(6);
  host.CloseChannel();
  EXPECT_TRUE(host.OutputEnds(10'000));
}

INSTANTIATE_LAUNCHER_MODES(TraceTreeTest);

}  // namespace
}  // namespace native_runner
