// Whole runs with the real bwrap and the real launcher, through a supervisor.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/supervisor_fixture.h"

namespace native_runner {
namespace {

class SandboxTest : public SupervisorFixture, public testing::WithParamInterface<Isolation> {
 protected:
  void SetUp() override {
    if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
    SupervisorFixture::SetUp();
  }
  void TearDown() override {
    if (SandboxProblem().empty()) SupervisorFixture::TearDown();
  }

  std::shared_ptr<const Backend> runtime() { return Sandboxed(workspace_.path(), GetParam()); }
  const RunResult& Run(ExecRequest request) {
    Submit(++last_, std::move(request), runtime());
    return Result(last_);
  }

  std::uint64_t last_ = 0;
};

TEST_P(SandboxTest, RunsACommandInTheWorkspace) {
  workspace_.Write("input", "text");
  const RunResult& result = Run(ShellRequest("pwd; cat input; echo made > output; exit 7"));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
  EXPECT_EQ(result.outcome.exit_code, 7);
  EXPECT_EQ(Text(result.out.bytes), "/workspace\ntext");
  EXPECT_EQ(workspace_.Read("output"), "made\n");
  EXPECT_GT(result.usage.peak_memory_bytes, 0u);
}

TEST_P(SandboxTest, ReportsHowACommandEnds) {
  EXPECT_EQ(Run(ShellRequest("kill -SEGV $$")).outcome.kind, OutcomeKind::kSignaled);
  EXPECT_EQ(Run(CommandRequest({"no-such-command"})).outcome.kind, OutcomeKind::kNotFound);
  EXPECT_EQ(Run(CommandRequest({"/etc/passwd"})).outcome.kind, OutcomeKind::kNotExecutable);
  ExecRequest nowhere = ShellRequest("exit 0");
  nowhere.cwd = "missing";
  const RunResult& failed = Run(std::move(nowhere));
  EXPECT_EQ(failed.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_NE(failed.outcome.reason.find("/workspace/missing"), std::string::npos)
      << failed.outcome.reason;
}

TEST_P(SandboxTest, EndsTheWholeTree) {
  const std::string mark = "60." + std::to_string(getpid());  // to be found among all processes
  const std::string script = "for i in 1 2 3; do setsid sleep " + mark + " & done; echo up > log; ";
  const RunResult& exited = Run(ShellRequest(script + "exit 0"));
  EXPECT_EQ(exited.outcome.kind, OutcomeKind::kExited);

  ExecRequest slow = ShellRequest(script + "wait");
  slow.limits.timeout_ms = 400;
  EXPECT_EQ(Run(std::move(slow)).outcome.kind, OutcomeKind::kTimedOut);

  ExecRequest ignoring = ShellRequest("trap '' TERM INT HUP; " + script + "echo more >> log; wait");
  Submit(++last_, std::move(ignoring), runtime());
  ASSERT_TRUE(WaitForText("log", "more"));
  supervisor_->Abort(last_);
  EXPECT_EQ(Result(last_).outcome.kind, OutcomeKind::kAborted);

  EXPECT_EQ(CountMarked(mark), 0);
}

// Killing a bwrap that is still setting up leaves its parts behind; ending a run must not.
TEST_P(SandboxTest, CanBeAbortedAtAnyMoment) {
  constexpr std::uint64_t kRuns = 24;
  for (std::uint64_t run = 1; run <= kRuns; ++run) {
    Submit(run, ShellRequest("sleep 60"), runtime(), kLane, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(run * 400));
    supervisor_->Abort(run);
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted) << Result(run).outcome.reason;
  }
}

TEST_P(SandboxTest, RunsManyAtOnce) {
  for (std::uint64_t run = 1; run <= 24; ++run) {
    Submit(run, ShellRequest("echo " + std::to_string(run)), runtime(), kLane, 4);
  }
  for (std::uint64_t run = 1; run <= 24; ++run) {
    EXPECT_EQ(Text(Result(run).out.bytes), std::to_string(run) + "\n")
        << Result(run).outcome.reason;
  }
}

TEST_P(SandboxTest, PassesLargeInputAndOutput) {
  const std::string all = Pattern(3 << 20);
  ExecRequest request = CommandRequest({"cat"});
  request.stdin_bytes = {all.begin(), all.end()};
  request.limits.max_stdout_bytes = 8 << 20;
  EXPECT_TRUE(Text(Run(std::move(request)).out.bytes) == all);
}

TEST_P(SandboxTest, ABwrapThatIsMissingRejects) {
  BubblewrapPolicy policy = SandboxPolicy(workspace_.path(), GetParam());
  policy.bwrap_path = "/nonexistent/bwrap";
  Submit(1, ShellRequest("exit 0"), std::make_shared<BubblewrapBackend>(policy));
  ASSERT_TRUE(Result(1).rejection);
  EXPECT_EQ(Result(1).rejection->code, ErrorCode::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(Isolation, SandboxTest,
                         testing::Values(Isolation::kStrict, Isolation::kCompat),
                         [](const testing::TestParamInfo<Isolation>& each) {
                           return each.param == Isolation::kStrict ? "Strict" : "Compat";
                         });

}  // namespace
}  // namespace native_runner
