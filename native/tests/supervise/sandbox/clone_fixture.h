#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/supervisor_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {

// A supervisor with one runner whose sandboxes are cloned, and none of which stands.
class CloneFixture : public SupervisorFixture {
 protected:
  void SetUp() override {
    if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
    SupervisorFixture::SetUp();
    runtime_ = Sandboxed(workspace_.path());
  }
  void TearDown() override {
    if (SandboxProblem().empty()) SupervisorFixture::TearDown();
  }

  static PoolReference Place(std::uint64_t number) {
    return {number, {0, 600'000, true}, std::make_shared<PoolCounters>()};
  }

  // Has the template made, or closes the runner, and waits for that.
  void Ask(const PoolReference& place, const std::shared_ptr<const Backend>& runtime,
           bool closes = false) {
    supervisor_->Submit(Supervisor::PoolRequest{++last_, closes, place, runtime});
    const auto* answer = listener_->WaitAnswer(last_);
    EXPECT_TRUE(answer != nullptr && answer->ok());
  }
  void Warm() { Ask(place_, runtime_); }
  void CloseRunner() { Ask(place_, runtime_, true); }

  std::uint64_t Start(ExecRequest request) {
    supervisor_->Submit(
        Supervisor::Job{++last_, kLane, kWide, runtime_, std::move(request), place_});
    return last_;
  }
  const RunResult& Run(ExecRequest request) { return Result(Start(std::move(request))); }
  const RunResult& Shell(const std::string& script) { return Run(ShellRequest(script)); }

  // Returns the output of a run, which must be in a clone.
  std::string InClone(ExecRequest request) {
    const RunResult& result = Run(std::move(request));
    EXPECT_EQ(result.start, SandboxStart::kCloned) << result.cold_reason;
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
    return Text(result.out.bytes) + Text(result.err.bytes);
  }
  std::string InClone(const std::string& script) { return InClone(ShellRequest(script)); }

  // A run that is in a clone again, within a few.
  bool IsClonedSoon() {
    return Eventually([this] { return Shell("true").start == SandboxStart::kCloned; });
  }

  static bool Eventually(const std::function<bool()>& condition) {
    for (int turn = 0; turn < Slow(2'000) && !condition(); ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }

  // The launcher of the only template, while nothing was spawned besides; 0: there is none.
  static pid_t Template() {
    const std::vector<pid_t> bwraps = ChildrenOf(getpid());
    if (bwraps.size() != 1) return 0;
    const std::vector<pid_t> launchers = ChildrenOf(bwraps[0]);
    return launchers.size() == 1 ? launchers[0] : 0;
  }

  std::shared_ptr<const Backend> runtime_;
  PoolReference place_ = Place(7);
  std::uint64_t last_ = 0;
};

}  // namespace native_runner
