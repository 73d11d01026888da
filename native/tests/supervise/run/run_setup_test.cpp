// How a run ends that never came to its command: runtimes of the test's own stand in for bwrap.

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "supervise/run/run.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

// The base of the backends of these tests, with a record of their own.
class TestBackend : public Backend {
 public:
  RunRecord Unprepared(const ExecRequest& request) const override {
    RunRecord record;
    record.runtime = "script";
    record.argv = request.argv;
    return record;
  }
};

// Starts a shell script where a launcher is expected. It holds the control socket as 3.
class ScriptBackend : public TestBackend {
 public:
  explicit ScriptBackend(std::string script) : script_(std::move(script)) {}
  void Prepare(const ExecRequest& request, SupervisorContext&, Ready ready) const override {
    Preparation preparation;
    preparation.record = Unprepared(request);
    preparation.plan.emplace<SpawnPlan>().spawn = ShellOrder(script_);
    ready(std::move(preparation));
  }

 private:
  std::string script_;
};

// Prepares when the test says so, if ever.
class LateBackend : public TestBackend {
 public:
  void Prepare(const ExecRequest&, SupervisorContext&, Ready ready) const override {
    ready_ = std::move(ready);
  }
  mutable Ready ready_;
};

class RunSetupTest : public testing::Test {
 protected:
  RunResult Script(const std::string& script, ExecRequest request = CommandRequest({"true"})) {
    return host_.Execute(std::make_shared<ScriptBackend>(script), std::move(request));
  }
  RunHost host_;
};

TEST_F(RunSetupTest, TheComplaintIsTheReason) {
  const RunResult result = Script("sleep 0.1; echo 'bwrap: No permission' >&2; exit 1");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.outcome.exit_code, 125);
  EXPECT_EQ(result.outcome.reason, "bwrap: No permission");
  EXPECT_EQ(Text(result.err.bytes), "bwrap: No permission\n") << "said once is enough";
}

TEST_F(RunSetupTest, TheComplaintIsTheReasonThoughNoOutputIsKept) {
  ExecRequest request = CommandRequest({"true"});
  request.limits.max_stderr_bytes = 0;
  const RunResult result = Script("sleep 0.1; echo 'no way' >&2; exit 1", std::move(request));
  EXPECT_EQ(result.outcome.reason, "no way");
  EXPECT_EQ(result.err.bytes.size(), 0u);
  EXPECT_EQ(result.err.total, 7u);
}

// The order may come too late for a bwrap that refuses its options at once; what it said counts.
TEST_F(RunSetupTest, TheComplaintIsTheReasonThoughTheOrderCameTooLate) {
  ExecRequest request = CommandRequest({"true", std::string(std::size_t{32} << 20U, 'x')});
  const RunResult result = Script("echo 'bwrap: Unknown option' >&2; exit 1", std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.outcome.reason, "bwrap: Unknown option");
  EXPECT_EQ(Text(result.err.bytes), "bwrap: Unknown option\n");
}

TEST_F(RunSetupTest, SilenceIsNamedToo) {
  EXPECT_EQ(Script("sleep 0.1; exit 3").outcome.reason,
            "script ended during set-up with status 3 and without a word");
  EXPECT_EQ(Script("sleep 0.1; kill -9 $$").outcome.reason,
            "script ended during set-up with SIGKILL and without a word");
}

TEST_F(RunSetupTest, AProgramThatCannotStartIsASetupFailure) {
  class MissingBackend : public TestBackend {
   public:
    void Prepare(const ExecRequest&, SupervisorContext&, Ready ready) const override {
      Preparation preparation;
      SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
      plan.spawn.path = "/nonexistent";
      plan.spawn.argv = {"gone"};
      ready(std::move(preparation));
    }
  };
  const int before = CountDescriptors();
  const RunResult result =
      host_.Execute(std::make_shared<MissingBackend>(), CommandRequest({"true"}));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.outcome.reason, "posix_spawn gone: No such file or directory");
  EXPECT_EQ(CountDescriptors(), before);
}

TEST_F(RunSetupTest, OneThatHangsInSetUpIsEndedWithItsParts) {
  const TempDirectory directory;
  ExecRequest request = CommandRequest({"true"});
  request.limits.timeout_ms = 300;
  const RunResult result =
      Script("sleep 60 & echo $! > " + directory.Path("pid") + "; wait", std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_EQ(CountChildren(), 0);
  const std::string pid = directory.Read("pid");
  ASSERT_FALSE(pid.empty());
  EXPECT_TRUE(IsGoneSoon(std::stoi(pid)));
}

TEST_F(RunSetupTest, PartsThatOutliveTheirParentAreEnded) {
  const TempDirectory directory;
  const RunResult result = Script("sleep 60 & echo $! > " + directory.Path("pid") + "; exit 1");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_TRUE(IsGoneSoon(std::stoi(directory.Read("pid"))));
}

TEST_F(RunSetupTest, TheDeadlineHoldsWhileARuntimePrepares) {
  const auto runtime = std::make_shared<LateBackend>();
  ExecRequest request = CommandRequest({"true"});
  request.limits.timeout_ms = 50;
  const RunResult result = host_.Execute(runtime, std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  runtime->ready_(Preparation{});  // too late: nothing is started any more
  runtime->ready_ = nullptr;
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(RunSetupTest, AbortHoldsWhileARuntimePrepares) {
  const auto runtime = std::make_shared<LateBackend>();
  const auto run = host_.Start(runtime, CommandRequest({"true"}));
  run->Abort();
  EXPECT_TRUE(host_.ended());
  EXPECT_EQ(host_.Wait().outcome.kind, OutcomeKind::kAborted);
  runtime->ready_(Error{ErrorCode::kSetup, "too late", ""});
  runtime->ready_ = nullptr;
}

TEST_F(RunSetupTest, OtherErrorsReject) {
  const auto runtime = std::make_shared<LateBackend>();
  const auto run = host_.Start(runtime, CommandRequest({"true"}));
  runtime->ready_(Error{ErrorCode::kUnavailable, "no bwrap", "install it"});
  runtime->ready_ = nullptr;
  const RunResult result = host_.Wait();
  ASSERT_TRUE(result.rejection);
  EXPECT_EQ(result.rejection->code, ErrorCode::kUnavailable);
  EXPECT_EQ(result.rejection->fix, "install it");
}

}  // namespace
}  // namespace native_runner
