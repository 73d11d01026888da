// Sandboxes that stand, with the real bwrap and launcher, through a supervisor.

#include "supervise/pool/sandbox_pool.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/supervisor_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

class SandboxPoolTest : public SupervisorFixture {
 protected:
  void SetUp() override {
    if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
    SupervisorFixture::SetUp();
    runtime_ = Sandboxed(workspace_.path());
  }
  void TearDown() override {
    if (SandboxProblem().empty()) SupervisorFixture::TearDown();
  }

  std::size_t Ask(bool closes) {
    supervisor_->Submit(Supervisor::PoolRequest{++last_, closes, place_, runtime_});
    const auto* answer = listener_->WaitAnswer(last_);
    EXPECT_TRUE(answer != nullptr && answer->ok());
    return answer != nullptr && answer->ok() ? answer->value() : 0;
  }
  std::size_t Fill() { return Ask(false); }
  void ClosePool() { Ask(true); }

  std::uint64_t Start(ExecRequest request) {
    supervisor_->Submit(
        Supervisor::Job{++last_, kLane, kWide, runtime_, std::move(request), place_});
    return last_;
  }
  const RunResult& Run(ExecRequest request) { return Result(Start(std::move(request))); }

  bool Eventually(const std::function<bool()>& condition) {
    for (int turn = 0; turn < Slow(4'000) && !condition(); ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }

  std::shared_ptr<const Backend> runtime_;
  PoolReference place_ = {7, {2, 600'000}, std::make_shared<PoolCounters>()};
  PoolCounters& counters_ = *place_.counters;
  std::uint64_t last_ = 0;
};

TEST_F(SandboxPoolTest, ARunTakesOneAndAnotherIsMade) {
  EXPECT_EQ(Fill(), 2u);
  EXPECT_EQ(counters_.prewarmed, 2u);
  workspace_.Write("input", "text");
  const RunResult& result = Run(ShellRequest("cat input; pwd; echo $$; exit 7"));
  EXPECT_EQ(result.outcome.exit_code, 7);
  EXPECT_EQ(Text(result.out.bytes), "text/workspace\n2\n");
  EXPECT_EQ(counters_.taken, 1u);
  EXPECT_EQ(counters_.missed, 0u);
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed == 2; }));
}

TEST_F(SandboxPoolTest, NothingIsLeftFromOneRunToTheNext) {
  Fill();
  const std::string leave = "echo left > /tmp/file; echo left > /dev/shm/file; sleep 600 &";
  EXPECT_EQ(Run(ShellRequest(leave)).outcome.kind, OutcomeKind::kExited);
  const RunResult& next = Run(ShellRequest("ls /tmp /dev/shm; cat /proc/[0-9]*/comm"));
  EXPECT_EQ(Text(next.out.bytes), "/dev/shm:\n\n/tmp:\nlauncher\nsh\n");
  EXPECT_EQ(counters_.taken, 2u);
}

TEST_F(SandboxPoolTest, TheDeadlineCountsFromTheOrder) {
  Fill();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  ExecRequest request = ShellRequest("sleep 0.2; echo done");
  request.limits.timeout_ms = 20'000;
  const RunResult& in_time = Run(std::move(request));
  EXPECT_EQ(Text(in_time.out.bytes), "done\n");
  EXPECT_LT(in_time.duration_ms, 20'000);
  ExecRequest slow = ShellRequest("echo before; sleep 600");
  slow.limits.timeout_ms = Slow(300);
  const RunResult& late = Run(std::move(slow));
  EXPECT_EQ(late.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_EQ(Text(late.out.bytes), "before\n");
  EXPECT_GE(late.duration_ms, 299);
  EXPECT_EQ(counters_.taken, 2u);
}

TEST_F(SandboxPoolTest, InputAndOutputAreWhole) {
  Fill();
  const std::string text = Pattern(3'000'000);
  ExecRequest request = CommandRequest({"cat"});
  request.stdin_bytes.assign(text.begin(), text.end());
  request.limits.max_stdout_bytes = text.size();
  EXPECT_EQ(Text(Run(std::move(request)).out.bytes), text);
  EXPECT_EQ(Text(Run(ShellRequest("readlink /proc/self/fd/0; cat")).out.bytes), "/dev/null\n");
  EXPECT_EQ(counters_.taken, 2u);
}

TEST_F(SandboxPoolTest, AReplacedWorkspaceIsNoticed) {
  const std::string place = workspace_.Path("place");
  std::filesystem::create_directory(place);
  runtime_ = Sandboxed(place);
  Fill();
  std::filesystem::rename(place, workspace_.Path("old"));
  std::filesystem::create_directory(place);
  EXPECT_EQ(Run(ShellRequest("echo new > file")).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(workspace_.Read("place/file"), "new\n");
  EXPECT_FALSE(workspace_.Has("old/file"));
  EXPECT_EQ(counters_.taken, 0u);
  EXPECT_EQ(counters_.discarded, 2u);
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed == 2; }));
  EXPECT_EQ(Run(ShellRequest("echo more >> file")).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(workspace_.Read("place/file"), "new\nmore\n");
  EXPECT_EQ(counters_.taken, 1u);
}

TEST_F(SandboxPoolTest, AMissingWorkspaceFailsAsWithoutAPool) {
  const std::string place = workspace_.Path("place");
  std::filesystem::create_directory(place);
  runtime_ = Sandboxed(place);
  Fill();
  std::filesystem::remove(place);
  const RunResult& result = Run(ShellRequest("exit 0"));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_NE(result.outcome.reason.find("shadowDir"), std::string::npos);
}

TEST_F(SandboxPoolTest, WhatItCannotMakeItSays) {
  runtime_ = Sandboxed(workspace_.Path("missing"));
  supervisor_->Submit(Supervisor::PoolRequest{++last_, false, place_, runtime_});
  const auto* answer = listener_->WaitAnswer(last_);
  ASSERT_NE(answer, nullptr);
  ASSERT_FALSE(answer->ok());
  EXPECT_NE(answer->error().message.find("shadowDir"), std::string::npos);
}

TEST_F(SandboxPoolTest, OneThatWasKilledIsNotUsed) {
  for (const bool kills_launcher : {false, true}) {
    ASSERT_EQ(Fill(), 2u);
    std::vector<pid_t> killed = ChildrenOf(getpid());
    if (kills_launcher) {
      const std::vector<pid_t> parents = std::exchange(killed, {});
      for (const pid_t bwrap : parents) {
        for (const pid_t launcher : ChildrenOf(bwrap))
          killed.push_back(launcher);
      }
    }
    ASSERT_EQ(killed.size(), 2u);
    for (const pid_t pid : killed)
      kill(pid, SIGKILL);
    for (const pid_t pid : killed)
      EXPECT_TRUE(IsGoneSoon(pid));
    EXPECT_EQ(Text(Run(ShellRequest("echo here")).out.bytes), "here\n");
    EXPECT_EQ(counters_.taken, 0u);
  }
}

TEST_F(SandboxPoolTest, OneThatDiesWithItsOrderIsReplaced) {
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_EQ(Fill(), 2u);
    const std::vector<pid_t> prewarmed = ChildrenOf(getpid());
    ExecRequest request = CommandRequest({"cat"});
    request.stdin_bytes = {'i', 'n'};
    const std::uint64_t run = Start(std::move(request));
    for (const pid_t bwrap : prewarmed)
      kill(bwrap, SIGKILL);
    const RunResult& result = Result(run);
    // Killed before its command started: another served; after that: it was the run's.
    const bool is_done = result.outcome.kind == OutcomeKind::kExited;
    EXPECT_TRUE(is_done || result.outcome.kind == OutcomeKind::kSignaled) << result.outcome.reason;
    EXPECT_EQ(is_done ? Text(result.out.bytes) : "in", "in");
  }
}

TEST_F(SandboxPoolTest, RunsEndAtAnyMoment) {
  for (int turn = 0; turn < 30; ++turn) {
    const std::uint64_t run = Start(ShellRequest("sleep 600 & sleep 600"));
    std::this_thread::sleep_for(std::chrono::microseconds(300 * turn));
    supervisor_->Abort(run);
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  }
}

TEST_F(SandboxPoolTest, GoesAwayWhenIdleAndComesBack) {
  place_.rule.idle_ms = Slow(500);  // long enough to be seen before it goes again
  EXPECT_EQ(Fill(), 2u);
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed == 0; }));
  EXPECT_TRUE(Eventually([] { return ChildrenOf(getpid()).empty(); }));
  EXPECT_EQ(Run(ShellRequest("exit 0")).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(counters_.missed, 1u);
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed > 0; }));
}

TEST_F(SandboxPoolTest, AppearsByItselfAfterAFewRuns) {
  place_.rule.size.reset();
  for (int run = 0; run < 2; ++run)
    Run(ShellRequest("exit 0"));
  EXPECT_EQ(counters_.missed, 0u);
  Run(ShellRequest("exit 0"));
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed == 1; }));
  Run(ShellRequest("exit 0"));
  EXPECT_EQ(counters_.taken, 1u);
}

TEST_F(SandboxPoolTest, ManyAtOnceAreServedOnce) {
  place_.rule.size = 6;
  EXPECT_EQ(Fill(), 6u);
  std::vector<std::uint64_t> runs;
  for (int run = 0; run < 24; ++run)
    runs.push_back(Start(ShellRequest("echo " + std::to_string(run) + " $$")));
  for (int run = 0; run < 24; ++run) {
    EXPECT_EQ(Text(Result(runs[static_cast<std::size_t>(run)]).out.bytes),
              std::to_string(run) + " 2\n");
  }
  EXPECT_GE(counters_.taken, 6u);
  EXPECT_EQ(counters_.taken + counters_.missed, 24u);
}

TEST_F(SandboxPoolTest, MemoryLimitsHaveSandboxesOfTheirOwn) {
  const auto limited = [] {
    ExecRequest request = ShellRequest("df -k --output=size /tmp | tail -1");
    request.limits.memory_bytes = 64 << 20;
    return request;
  };
  Fill();
  EXPECT_EQ(std::stoi(Text(Run(limited()).out.bytes)), 64 << 10);
  EXPECT_EQ(counters_.taken, 0u);
  EXPECT_TRUE(Eventually([this] { return counters_.prewarmed == 2; }));
  EXPECT_EQ(std::stoi(Text(Run(limited()).out.bytes)), 64 << 10);
  EXPECT_EQ(counters_.taken, 1u);
  EXPECT_GT(std::stoi(Text(Run(ShellRequest("df -k --output=size /tmp | tail -1")).out.bytes)),
            64 << 10);
}

TEST_F(SandboxPoolTest, ClosingLeavesNothing) {
  EXPECT_EQ(Fill(), 2u);
  EXPECT_EQ(ChildrenOf(getpid()).size(), 2u);
  ClosePool();
  EXPECT_EQ(CountChildren(), 0);
  EXPECT_EQ(counters_.prewarmed, 0u);
  counters_.closed = true;
  EXPECT_EQ(Run(ShellRequest("exit 3")).outcome.exit_code, 3) << "a run that came too late";
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(SandboxPoolTest, ClosingTheSupervisorEndsThoseInSetUpToo) {
  place_.rule.size = 8;
  supervisor_->Submit(Supervisor::PoolRequest{++last_, false, place_, runtime_});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  StopSupervisor();
  EXPECT_EQ(CountChildren(), 0);
}

}  // namespace
}  // namespace native_runner
