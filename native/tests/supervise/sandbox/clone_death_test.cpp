// Templates and clones that are killed or stopped from outside: a command starts at most once.

#include <gtest/gtest.h>

#include <csignal>

#include "tests/supervise/sandbox/clone_fixture.h"

namespace native_runner {
namespace {

class CloneDeathTest : public CloneFixture {
 protected:
  // Appends a line each time that it starts.
  static ExecRequest Counting(const std::string& then = "") {
    return ShellRequest("echo x >> count; " + then);
  }
  std::string Starts() const { return workspace_.Read("count"); }
  void ExpectHeals() {
    EXPECT_TRUE(IsClonedSoon());
    EXPECT_EQ(InClone("echo here"), "here\n");
  }
};

TEST_F(CloneDeathTest, ATemplateThatDiedIdleIsReplaced) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  kill(made, SIGKILL);
  EXPECT_TRUE(IsGoneSoon(made));
  const RunResult& result = Run(Counting());
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(result.start, SandboxStart::kCold);
  EXPECT_NE(result.cold_reason, "");
  EXPECT_EQ(Starts(), "x\n");
  ExpectHeals();
}

TEST_F(CloneDeathTest, KilledBeforeTheClonesFirstWordTheRunIsCold) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  kill(made, SIGSTOP);
  const std::uint64_t run = Start(Counting());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(Starts(), "") << "the template is stopped";
  kill(made, SIGKILL);
  const RunResult& result = Result(run);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
  EXPECT_EQ(result.start, SandboxStart::kCold);
  EXPECT_EQ(result.cold_reason, "its clone ended before the command began");
  EXPECT_EQ(Starts(), "x\n");
  ExpectHeals();
}

TEST_F(CloneDeathTest, KilledWhileACommandRunsThatIsItsEnd) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  const std::uint64_t run = Start(Counting("sleep 600"));
  ASSERT_TRUE(WaitForText("count", "x"));
  kill(made, SIGKILL);
  const RunResult& result = Result(run);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSignaled) << result.outcome.reason;
  EXPECT_EQ(result.start, SandboxStart::kCloned);
  EXPECT_EQ(Starts(), "x\n") << "it was not started again";
  ExpectHeals();
}

TEST_F(CloneDeathTest, AtAnyMomentACommandStartsOnceAtMost) {
  for (int turn = 0; turn < 20; ++turn) {
    Warm();
    const pid_t made = Template();
    ASSERT_NE(made, 0);
    workspace_.Write("count", "", 0666);
    const std::uint64_t run = Start(Counting());
    std::this_thread::sleep_for(std::chrono::microseconds(250 * turn));
    kill(made, SIGKILL);
    const RunResult& result = Result(run);
    const bool is_done = result.outcome.kind == OutcomeKind::kExited;
    EXPECT_TRUE(is_done || result.outcome.kind == OutcomeKind::kSignaled) << result.outcome.reason;
    EXPECT_EQ(result.start == SandboxStart::kCold, !result.cold_reason.empty());
    if (is_done) {
      EXPECT_EQ(Starts(), "x\n");
    } else {
      EXPECT_LE(Starts().size(), 2u);
    }
    ASSERT_TRUE(Eventually([] { return CountChildren() == 0; }));
  }
}

TEST_F(CloneDeathTest, AStoppedTemplateIsWokenForTheDeadline) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  kill(made, SIGSTOP);
  ExecRequest request = Counting("sleep 600");
  request.limits.timeout_ms = 200;
  const RunResult& result = Run(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_LE(Starts().size(), 2u);
  ExpectHeals();
}

// A clone that is killed while its deadline ends it is not started again.
TEST_F(CloneDeathTest, WhatWasAbortedIsNotTriedAgain) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  kill(made, SIGSTOP);
  const std::uint64_t run = Start(Counting());
  supervisor_->Abort(run);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(made, SIGKILL);
  EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(Starts(), "");
  ExpectHeals();
}

TEST_F(CloneDeathTest, ACloneThatIsKilledIsNobodyElsesEnd) {
  Warm();
  const pid_t made = Template();
  const std::uint64_t other =
      Start(ShellRequest("echo up > up; while [ ! -e go ]; do sleep 0.01; done"));
  ASSERT_TRUE(WaitForText("up", "up"));
  const std::vector<pid_t> before = ChildrenOf(made);
  const std::uint64_t run = Start(Counting("sleep 600"));
  ASSERT_TRUE(WaitForText("count", "x"));
  for (const pid_t clone : ChildrenOf(made)) {
    if (std::find(before.begin(), before.end(), clone) == before.end()) kill(clone, SIGKILL);
  }
  EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kSignaled);
  EXPECT_EQ(Starts(), "x\n");
  workspace_.Write("go", "");
  EXPECT_EQ(Result(other).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(InClone("echo here"), "here\n");
  EXPECT_EQ(Template(), made);
}

TEST_F(CloneDeathTest, ClosingTheSupervisorEndsClonesInFlight) {
  Warm();
  std::vector<std::uint64_t> runs;
  for (int run = 0; run < 6; ++run)
    runs.push_back(Start(ShellRequest("sleep 600 & sleep 600")));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  StopSupervisor();
  EXPECT_EQ(CountChildren(), 0);
  for (const std::uint64_t run : runs)
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
}

TEST_F(CloneDeathTest, ClosingTheSupervisorEndsAStoppedTemplate) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  kill(made, SIGSTOP);
  const std::uint64_t run = Start(ShellRequest("sleep 600"));
  StopSupervisor();
  EXPECT_EQ(CountChildren(), 0);
  EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
}

}  // namespace
}  // namespace native_runner
