// The timing and the `kill` of a run's record, with the real launcher.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/run/run.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/supervisor_fixture.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kNapUs = 200'000;
constexpr char kNap[] = "sleep 0.2";
constexpr double kRoundingUs = 2;

double PartsSinceStart(const Timing& timing) {
  return static_cast<double>(timing.setup_us + timing.command_us + timing.teardown_us);
}

void ExpectWhole(const RunResult& result) {
  EXPECT_NEAR(PartsSinceStart(result.timing), result.duration_ms * 1000, kRoundingUs);
}

class RunTimingTest : public testing::Test {
 protected:
  RunResult Shell(const std::string& script, std::optional<std::uint64_t> timeout_ms = {}) {
    ExecRequest request = ShellRequest(script);
    if (timeout_ms) request.limits.timeout_ms = *timeout_ms;
    return host_.Execute(Local(workspace_.path()), std::move(request));
  }

  TempDirectory workspace_;
  RunHost host_;
};

TEST_F(RunTimingTest, TheCommandsTimeIsItsOwn) {
  const RunResult result = Shell(kNap);
  ExpectWhole(result);
  EXPECT_EQ(result.timing.queue_us, 0u);
  EXPECT_GT(result.timing.setup_us, 0u);
  EXPECT_GE(result.timing.command_us, kNapUs);
  EXPECT_GT(result.timing.teardown_us, 0u);
  EXPECT_EQ(result.kill, Kill::kNone);
  EXPECT_EQ(result.start, SandboxStart::kCold);
}

TEST_F(RunTimingTest, InASandboxToo) {
  if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
  const RunResult result = host_.Execute(Sandboxed(workspace_.path()), ShellRequest(kNap));
  ExpectWhole(result);
  EXPECT_GE(result.timing.command_us, kNapUs);
  EXPECT_LT(result.timing.command_us, static_cast<std::uint64_t>(result.duration_ms * 1000))
      << "set-up is no part of it";
  EXPECT_GT(result.timing.setup_us, 0u);
  EXPECT_GT(result.timing.teardown_us, 0u);
}

TEST_F(RunTimingTest, WhatTheCommandLeavesIsKilledAfterIt) {
  const RunResult result = Shell("sleep 60 & exit 3");
  ExpectWhole(result);
  EXPECT_EQ(result.outcome.exit_code, 3);
  EXPECT_EQ(result.kill, Kill::kProved);
}

TEST_F(RunTimingTest, WhatTheCommandLeavesInASandboxIsKilledAfterIt) {
  if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
  const auto sandboxed = Sandboxed(workspace_.path());
  EXPECT_EQ(host_.Execute(sandboxed, ShellRequest("sleep 60 & exit 3")).kill, Kill::kProved);
  EXPECT_EQ(host_.Execute(sandboxed, ShellRequest("exit 3")).kill, Kill::kNone);
}

TEST_F(RunTimingTest, AProcessThatEndsInTimeIsNotKilled) {
  EXPECT_EQ(Shell("sleep 0.05 & wait; exit 3").kill, Kill::kNone);
  EXPECT_EQ(Shell("kill -9 $$").kill, Kill::kNone) << "its own doing";
}

TEST_F(RunTimingTest, AfterADeadlineItIsTornDown) {
  const RunResult result = Shell("sleep 60", 200);
  ExpectWhole(result);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_GE(result.timing.setup_us + result.timing.command_us, kNapUs - 1'000);  // libuv's clock
  EXPECT_GT(result.timing.teardown_us, 0u);
  EXPECT_EQ(result.kill, Kill::kProved);
}

TEST_F(RunTimingTest, ACommandThatCannotStart) {
  const RunResult result =
      host_.Execute(Local(workspace_.path()), CommandRequest({"no-such-command-at-all"}));
  ExpectWhole(result);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kNotFound);
  EXPECT_GT(result.timing.teardown_us, 0u);
  EXPECT_EQ(result.kill, Kill::kNone);
}

TEST_F(RunTimingTest, WithoutACommandThereIsSetUpOnly) {
  const RunResult result = host_.Execute(Local(workspace_.Path("missing")), ShellRequest(kNap));
  ExpectWhole(result);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.timing.command_us, 0u);
  EXPECT_EQ(result.timing.teardown_us, 0u);
  EXPECT_EQ(result.kill, Kill::kNone);
}

// A shell that stands in for a launcher and says what the test wants it to.
class ScriptedLauncher : public Backend {
 public:
  explicit ScriptedLauncher(const std::vector<Report>& reports) {
    for (const Report& report : reports) {
      const std::string name = "report" + std::to_string(count_++);
      directory_.Write(name, {reinterpret_cast<const char*>(&report), sizeof report});
    }
  }

  RunRecord Unprepared(const ExecRequest& request) const override {
    RunRecord record;
    record.runtime = "script";
    record.argv = request.argv;
    return record;
  }

  void Prepare(const ExecRequest& request, SupervisorContext&, Ready ready) const override {
    Preparation preparation;
    preparation.record = Unprepared(request);
    std::string script = "dd bs=64k count=1 <&3 of=/dev/null 2>/dev/null";
    for (int i = 0; i < count_; ++i)
      script += "; cat " + directory_.Path("report" + std::to_string(i)) + " >&3";
    preparation.plan.emplace<SpawnPlan>().spawn = ShellOrder(script);
    ready(std::move(preparation));
  }

 private:
  TempDirectory directory_;
  int count_ = 0;
};

TEST_F(RunTimingTest, WhatCannotBeSignalledIsAKillWithoutProof) {
  Report ready;
  Report exited{.kind = ReportKind::kExited, .error = EBUSY};
  ready.at_ns = exited.at_ns = uv_hrtime();
  exited.killed = 1;
  const auto execute = [&] {
    return host_.Execute(std::make_shared<ScriptedLauncher>(std::vector<Report>{ready, exited}),
                         CommandRequest({"true"}));
  };
  const RunResult unproved = execute();
  EXPECT_EQ(unproved.outcome.kind, OutcomeKind::kExited) << unproved.outcome.reason;
  EXPECT_EQ(unproved.record.layers.Names().back(), "tree-kill:incomplete");
  EXPECT_EQ(unproved.kill, Kill::kUnproved);
  exited.error = 0;
  EXPECT_EQ(execute().kill, Kill::kProved);
  exited.killed = 0;
  EXPECT_EQ(execute().kill, Kill::kNone);
}

TEST_F(RunTimingTest, ALaunchersOtherClockDoesNoHarm) {
  for (const std::uint64_t at_ns : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    Report ready;
    Report exited{.kind = ReportKind::kExited};
    ready.at_ns = exited.at_ns = at_ns;
    ExpectWhole(
        host_.Execute(std::make_shared<ScriptedLauncher>(std::vector<Report>{ready, exited}),
                      CommandRequest({"true"})));
  }
}

class QueueTimeTest : public SupervisorFixture {};

TEST_F(QueueTimeTest, ARunWaitsForTheOneBeforeIt) {
  SubmitShell(1, kNap, kLane, 1);
  SubmitShell(2, "true", kLane, 1);
  const RunResult& first = Result(1);
  const RunResult& second = Result(2);
  ExpectWhole(first);
  ExpectWhole(second);
  EXPECT_GE(second.timing.queue_us, kNapUs);
}

TEST_F(QueueTimeTest, ARunThatIsAbortedInTheQueueHasOnlyWaited) {
  SubmitShell(1, kNap, kLane, 1);
  SubmitShell(2, "true", kLane, 1);
  supervisor_->Abort(2);
  const RunResult& second = Result(2);
  EXPECT_EQ(second.outcome.kind, OutcomeKind::kAborted);
  EXPECT_GT(second.timing.queue_us, 0u);
  EXPECT_EQ(PartsSinceStart(second.timing), 0);
  EXPECT_EQ(second.kill, Kill::kNone);
  Result(1);
}

}  // namespace
}  // namespace native_runner
