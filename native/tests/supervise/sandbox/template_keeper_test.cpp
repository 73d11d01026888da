// When a template is made, when it is given up, and when there is to be none.

#include <gtest/gtest.h>

#include <csignal>

#include "supervise/pool/sandbox_pool.h"
#include "tests/supervise/sandbox/clone_fixture.h"

namespace native_runner {
namespace {

class TemplateKeeperTest : public CloneFixture {};

TEST_F(TemplateKeeperTest, IsMadeFromTheSecondRunOn) {
  const RunResult& first = Shell("true");
  EXPECT_EQ(first.start, SandboxStart::kCold);
  EXPECT_EQ(first.cold_reason, "no template was made yet");
  EXPECT_EQ(CountChildren(), 0) << "for one run none is made";
  const RunResult& second = Shell("true");
  EXPECT_EQ(second.start, SandboxStart::kCold);
  EXPECT_TRUE(IsClonedSoon());
  EXPECT_NE(Template(), 0);
}

TEST_F(TemplateKeeperTest, IsMadeOnlyWhereItIsWanted) {
  place_.rule.clones = false;
  for (int run = 0; run < 4; ++run) {
    const RunResult& result = Shell("true");
    EXPECT_EQ(result.start, SandboxStart::kCold);
    EXPECT_EQ(result.cold_reason, "");
  }
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(TemplateKeeperTest, APolicyThatCannotBeClonedSaysWhy) {
  BubblewrapPolicy policy = SandboxPolicy(workspace_.path());
  policy.with_proc = false;
  runtime_ = std::make_shared<BubblewrapBackend>(policy);
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(Shell("true").cold_reason, "it has no /proc");
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(TemplateKeeperTest, AHostThatChangedHasAnother) {
  const std::string place = workspace_.Path("place");
  std::filesystem::create_directory(place);
  runtime_ = Sandboxed(place);
  Warm();
  const pid_t first = Template();
  ASSERT_NE(first, 0);
  const std::uint64_t running =
      Start(ShellRequest("echo up > up; while [ ! -e go ]; do sleep 0.01; done; echo done"));
  ASSERT_TRUE(WaitForText("place/up", "up"));
  std::filesystem::rename(place, workspace_.Path("old"));
  std::filesystem::create_directory(place);
  const RunResult& changed = Shell("echo new > file");
  EXPECT_EQ(changed.start, SandboxStart::kCold);
  EXPECT_EQ(changed.cold_reason,
            "there is no template: the host is not as it was when the last one was made");
  EXPECT_EQ(workspace_.Read("place/file"), "new\n");
  EXPECT_FALSE(workspace_.Has("old/file"));
  EXPECT_TRUE(IsClonedSoon());
  EXPECT_EQ(InClone("ls"), "file\n");
  EXPECT_TRUE(IsAlive(first)) << "a clone of it still runs";
  workspace_.Write("old/go", "");
  const RunResult& done = Result(running);
  EXPECT_EQ(Text(done.out.bytes), "done\n");
  EXPECT_EQ(done.start, SandboxStart::kCloned);
  EXPECT_TRUE(IsGoneSoon(first)) << "its last clone has gone";
  EXPECT_EQ(InClone("ls"), "file\n");
}

// After each failed template, twice as many runs go without a new attempt.
TEST_F(TemplateKeeperTest, TemplatesInVainBecomeRare) {
  const std::string place = workspace_.Path("place");
  std::filesystem::create_directory(place);
  runtime_ = Sandboxed(place);
  int made = 0;
  std::string before;
  for (int run = 0; run < 40; ++run) {
    std::filesystem::rename(place, workspace_.Path("old" + std::to_string(run)));
    std::filesystem::create_directory(place);
    const RunResult& result = Shell("true");
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
    EXPECT_EQ(result.start, SandboxStart::kCold);
    if (result.cold_reason == "its template is being made") continue;
    // A requested template exists now, at least in its set-up.
    if (!ChildrenOf(getpid()).empty()) ++made;
  }
  EXPECT_GE(made, 2);
  EXPECT_LE(made, 8);
}

TEST_F(TemplateKeeperTest, GoesWhenIdleAndComesBack) {
  place_.rule.idle_ms = Slow(1'000);  // longer than a busy machine takes to look
  Warm();
  EXPECT_NE(Template(), 0);
  EXPECT_TRUE(Eventually([] { return CountChildren() == 0; }));
  Shell("true");
  EXPECT_TRUE(IsClonedSoon());
}

TEST_F(TemplateKeeperTest, AnIdleOneWaitsForItsClones) {
  place_.rule.idle_ms = Slow(100);
  Warm();
  const std::uint64_t run =
      Start(ShellRequest("sleep " + std::to_string(Slow(0.5)) + "; echo done"));
  const RunResult& result = Result(run);
  EXPECT_EQ(result.start, SandboxStart::kCloned);
  EXPECT_EQ(Text(result.out.bytes), "done\n");
  EXPECT_TRUE(Eventually([] { return CountChildren() == 0; }));
}

TEST_F(TemplateKeeperTest, ClosingTheRunnerLeavesNothing) {
  Warm();
  EXPECT_NE(Template(), 0);
  CloseRunner();
  EXPECT_EQ(CountChildren(), 0);
  place_.counters->closed = true;
  const RunResult& late = Shell("exit 3");
  EXPECT_EQ(late.outcome.exit_code, 3) << "a run that came too late";
  EXPECT_EQ(late.start, SandboxStart::kCold);
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(TemplateKeeperTest, ClosingTheRunnerInItsSetUpLeavesNothing) {
  Shell("true");  // what bwrap can do is known from here on, and nothing is asked of it
  supervisor_->Submit(Supervisor::PoolRequest{++last_, false, place_, runtime_});
  supervisor_->Submit(Supervisor::PoolRequest{++last_, true, place_, runtime_});
  EXPECT_NE(listener_->WaitAnswer(last_), nullptr);
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(TemplateKeeperTest, ClosingTheRunnerWaitsForItsClones) {
  Warm();
  const std::uint64_t run =
      Start(ShellRequest("echo up > up; while [ ! -e go ]; do sleep 0.01; done; echo done"));
  ASSERT_TRUE(WaitForText("up", "up"));
  const std::uint64_t close = ++last_;
  supervisor_->Submit(Supervisor::PoolRequest{close, true, place_, runtime_});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  workspace_.Write("go", "");
  EXPECT_EQ(Text(Result(run).out.bytes), "done\n");
  EXPECT_NE(listener_->WaitAnswer(close), nullptr);
  EXPECT_EQ(CountChildren(), 0);
}

// A set-up that never ends keeps no run waiting, and no close.
TEST_F(TemplateKeeperTest, AStuckSetUpKeepsNobodyWaiting) {
  Shell("true");
  Shell("true");
  for (const pid_t bwrap : ChildrenOf(getpid())) {
    ASSERT_TRUE(Eventually([&] { return HasExecuted(bwrap); }));
    kill(bwrap, SIGSTOP);
  }
  EXPECT_EQ(Shell("exit 4").outcome.exit_code, 4);
  CloseRunner();
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(TemplateKeeperTest, ThereAreOnlySoMany) {
  constexpr std::uint64_t kMost = 16;
  std::vector<std::shared_ptr<const Backend>> runtimes;
  for (std::uint64_t number = 0; number <= kMost; ++number) {
    runtimes.push_back(Sandboxed(workspace_.path()));
    runtime_ = runtimes.back();
    place_ = Place(100 + number);
    Warm();
  }
  EXPECT_EQ(ChildrenOf(getpid()).size(), kMost);
  const RunResult& result = Shell("true");
  EXPECT_EQ(result.start, SandboxStart::kCold);
  EXPECT_EQ(result.cold_reason, "as many templates as may be stand for other runners");
  const auto last = std::exchange(place_, Place(100));
  runtime_ = runtimes[0];
  EXPECT_EQ(InClone("echo here"), "here\n") << "each has its own";
  CloseRunner();
  place_ = last;
  runtime_ = runtimes[kMost];
  EXPECT_TRUE(IsClonedSoon()) << "there is room now";
}

}  // namespace
}  // namespace native_runner
