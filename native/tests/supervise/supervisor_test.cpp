#include "supervise/supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/supervisor_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

using std::chrono::milliseconds;

class SupervisorTest : public SupervisorFixture {};

// Returns a lane test's script for a job: it notes "s3" when the third starts, "e3" when it ends.
std::string Noting(std::uint64_t run, const std::string& between) {
  const std::string id = std::to_string(run);
  return "echo s" + id + " >> log; " + between + "; echo e" + id + " >> log";
}

int MostAtOnce(const std::string& log) {
  std::istringstream lines(log);
  int now = 0;
  int most = 0;
  for (std::string line; std::getline(lines, line);) {
    now += line[0] == 's' ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

TEST_F(SupervisorTest, RunsManyJobsFromTwoThreads) {
  constexpr std::uint64_t kEach = 40;
  const auto submit = [this](std::uint64_t first) {
    for (std::uint64_t run = first; run < first + kEach; ++run) {
      SubmitShell(run, "echo " + std::to_string(run) + "; exit " + std::to_string(run % 7), kLane,
                  4);
    }
  };
  std::thread other(submit, 1'000);
  submit(0);
  other.join();
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1'000}}) {
    for (std::uint64_t run = first; run < first + kEach; ++run) {
      const RunResult& result = Result(run);
      EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
      EXPECT_EQ(result.outcome.exit_code, static_cast<int>(run % 7));
      EXPECT_EQ(Text(result.out.bytes), std::to_string(run) + "\n");
    }
  }
}

TEST_F(SupervisorTest, ANarrowLaneKeepsTheOrder) {
  std::string expected;
  for (std::uint64_t run = 1; run <= 6; ++run) {
    SubmitShell(run, Noting(run, "true"), kLane, 1);
    const std::string id = std::to_string(run);
    expected += "s" + id + "\ne" + id + "\n";
  }
  Result(6);
  EXPECT_EQ(workspace_.Read("log"), expected);
  EXPECT_EQ(listener_->order(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(SupervisorTest, ALaneIsAsWideAsItSays) {
  for (std::uint64_t run = 1; run <= 7; ++run) {
    SubmitShell(run, Noting(run, "until [ -e go ]; do sleep 0.02; done"), kLane, 3);
  }
  for (const char* start : {"s1\n", "s2\n", "s3\n"})
    EXPECT_TRUE(WaitForText("log", start));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(workspace_.Read("log").find("s4"), std::string::npos);
  workspace_.Write("go", "");
  for (std::uint64_t run = 1; run <= 7; ++run) {
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kExited);
  }
  EXPECT_EQ(MostAtOnce(workspace_.Read("log")), 3);
}

TEST_F(SupervisorTest, LanesDoNotWaitForEachOther) {
  SubmitShell(1, "until [ -e go ]; do sleep 0.02; done", 1, 1);
  SubmitShell(2, "exit 0", 1, 1);
  SubmitShell(3, "exit 5", 2, 1);
  EXPECT_EQ(Result(3).outcome.exit_code, 5);
  workspace_.Write("go", "");
  EXPECT_EQ(Result(2).outcome.exit_code, 0);
  EXPECT_EQ(listener_->order(), (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST_F(SupervisorTest, JobsThatCannotStartDoNotBlockTheirLane) {
  for (std::uint64_t run = 1; run <= 50; ++run) {
    Submit(run, ShellRequest("exit 0"), Local(workspace_.Path("missing")), kLane, 1);
  }
  SubmitShell(51, "exit 0", kLane, 1);
  EXPECT_EQ(Result(51).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(Result(50).outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(listener_->order().size(), 51u);
}

// A backend whose files answer once `answer` is set.
class SlowFiles final : public Backend {
 public:
  SlowFiles(std::shared_ptr<const Backend> then, std::shared_future<void> answer)
      : then_(std::move(then)), answer_(std::move(answer)) {}

  RunRecord Unprepared(const ExecRequest& request) const override {
    return then_->Unprepared(request);
  }
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override {
    shared.files->Do(
        &request, [answer = answer_] { answer.wait(); },
        [then = then_, &request, &shared, ready = std::move(ready)](std::optional<Error> error) {
          if (error) return ready(*error);
          then->Prepare(request, shared, ready);
        });
  }

 private:
  std::shared_ptr<const Backend> then_;
  std::shared_future<void> answer_;
};

TEST_F(SupervisorTest, WhatWaitsForFilesHasNoPlaceInTheSharedLane) {
  constexpr std::uint64_t kShared = RunJob::kSharedLane;
  std::promise<void> answer;
  const auto slow = std::make_shared<SlowFiles>(Local(workspace_.path()), answer.get_future());
  const std::string until_go = "until [ -e go ]; do sleep 0.02; done";
  const std::string until_last = "until [ -e last ]; do sleep 0.02; done";
  Submit(1, ShellRequest(Noting(1, until_last)), slow, kShared, 2);
  Submit(2, ShellRequest(Noting(2, until_last)), slow, kShared, 2);
  Submit(3, ShellRequest("touch started"), slow, kShared, 2);
  SubmitShell(4, "exit 4", kShared, 2);
  EXPECT_EQ(Result(4).outcome.exit_code, 4);
  // It has none when it has ended before the files answer, and none is lost by that.
  supervisor_->Abort(3);
  EXPECT_EQ(Result(3).outcome.kind, OutcomeKind::kAborted);
  for (const std::uint64_t run : {std::uint64_t{5}, std::uint64_t{6}})
    SubmitShell(run, Noting(run, until_go), kShared, 2);
  EXPECT_TRUE(WaitForText("log", "s5\n"));
  EXPECT_TRUE(WaitForText("log", "s6\n"));
  SubmitShell(7, Noting(7, "true"), kShared, 2);
  answer.set_value();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(workspace_.Read("log").size(), 6u) << "none besides the two that have a place";
  workspace_.Write("go", "");
  // Both hold their places until `last` is there, however late their shells come to write.
  EXPECT_TRUE(WaitForText("log", "s1\n"));
  EXPECT_TRUE(WaitForText("log", "s2\n"));
  EXPECT_EQ(workspace_.Read("log").find("s7"), std::string::npos)
      << "what was begun first has the next place";
  workspace_.Write("last", "");
  for (const std::uint64_t run : {1, 2, 5, 6, 7})
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(MostAtOnce(workspace_.Read("log")), 2);
  EXPECT_FALSE(workspace_.Has("started"));
}

TEST_F(SupervisorTest, WhatWaitsForFilesKeepsItsPlaceInALaneOfItsOwn) {
  std::promise<void> answer;
  const auto slow = std::make_shared<SlowFiles>(Local(workspace_.path()), answer.get_future());
  Submit(1, ShellRequest(Noting(1, "true")), slow, kLane, 1);
  SubmitShell(2, Noting(2, "true"), kLane, 1);
  std::this_thread::sleep_for(milliseconds(2 * Run::kHeldUpMs));
  EXPECT_FALSE(workspace_.Has("log"));
  answer.set_value();
  Result(2);
  EXPECT_EQ(workspace_.Read("log"), "s1\ne1\ns2\ne2\n");
}

TEST_F(SupervisorTest, AbortsARunThatWaits) {
  SubmitShell(1, "until [ -e go ]; do sleep 0.02; done", kLane, 1);
  SubmitShell(2, "touch started", kLane, 1);
  SubmitShell(3, "exit 3", kLane, 1);
  supervisor_->Abort(2);
  const RunResult& aborted = Result(2);
  EXPECT_FALSE(aborted.rejection);
  EXPECT_EQ(aborted.outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(aborted.outcome.exit_code, 130);
  EXPECT_EQ(aborted.record.runtime, "local");
  EXPECT_EQ(aborted.record.argv, (std::vector<std::string>{"/bin/sh", "-c", "touch started"}));
  EXPECT_TRUE(aborted.record.layers.IsEmpty()) << "none was in force";
  workspace_.Write("go", "");
  EXPECT_EQ(Result(3).outcome.exit_code, 3);
  EXPECT_FALSE(workspace_.Has("started"));
}

TEST_F(SupervisorTest, WhatWasAbortedBeforeIsNotStarted) {
  for (const bool is_live : {false, true}) {
    ExecRequest request = ShellRequest("touch started");
    request.is_aborted = true;
    if (is_live) request.kind = SpawnCall{};
    const std::uint64_t run = is_live ? 2 : 1;
    Submit(run, std::move(request), Local(workspace_.path()));
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
    EXPECT_EQ(Result(run).outcome.exit_code, 130);
  }
  SubmitShell(3, "exit 3");
  EXPECT_EQ(Result(3).outcome.exit_code, 3);
  EXPECT_FALSE(workspace_.Has("started"));
}

TEST_F(SupervisorTest, AbortsARunThatRuns) {
  SubmitShell(1, "echo up > log; sleep 60");
  ASSERT_TRUE(WaitForText("log", "up"));
  supervisor_->Abort(1);
  supervisor_->Abort(1);
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kAborted);
}

TEST_F(SupervisorTest, AbortOfWhatIsOverOrUnknownDoesNothing) {
  SubmitShell(1, "exit 4");
  EXPECT_EQ(Result(1).outcome.exit_code, 4);
  supervisor_->Abort(1);
  supervisor_->Abort(77);
  SubmitShell(2, "exit 5");
  EXPECT_EQ(Result(2).outcome.exit_code, 5);
  EXPECT_EQ(listener_->order(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(SupervisorTest, ADeadlineHoldsThoughTheMainThreadIsBusy) {
  ExecRequest request = ShellRequest("sleep 60");
  request.limits.timeout_ms = 100;
  const auto start = RecordingListener::Clock::now();
  Submit(1, std::move(request), Local(workspace_.path()));
  while (RecordingListener::Clock::now() - start < milliseconds(1'500)) {
  }
  const auto busy_until = RecordingListener::Clock::now();
  const auto* ended = listener_->Wait(1);
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_GE(ended->when - start, milliseconds(99));
  EXPECT_LT(ended->when, busy_until);
}

TEST_F(SupervisorTest, TheDeadlineCountsFromTheStartOfTheRun) {
  SubmitShell(1, "sleep " + std::to_string(Slow(1)), kLane, 1);
  ExecRequest request = ShellRequest("exit 0");
  request.limits.timeout_ms = Slow(800);
  Submit(2, std::move(request), Local(workspace_.path()), kLane, 1);
  EXPECT_EQ(Result(2).outcome.kind, OutcomeKind::kExited);
}

TEST_F(SupervisorTest, StreamsBothOutputs) {
  ExecRequest request = ShellRequest("echo one; echo two >&2; echo three");
  request.stream_stdout = request.stream_stderr = true;
  Submit(1, std::move(request), Local(workspace_.path()));
  const RunResult& result = Result(1);
  EXPECT_EQ(listener_->Chunks(1, Stream::kStdout), Text(result.out.bytes));
  EXPECT_EQ(listener_->Chunks(1, Stream::kStdout), "one\nthree\n");
  EXPECT_EQ(listener_->Chunks(1, Stream::kStderr), "two\n");
}

TEST_F(SupervisorTest, ACommandMayIgnoreItsInput) {
  ExecRequest request = ShellRequest("exec 0<&-; sleep 0.1; exit 6");
  request.stdin_bytes.resize(4 << 20);
  Submit(1, std::move(request), Local(workspace_.path()));
  EXPECT_EQ(Result(1).outcome.exit_code, 6);
}

TEST(SupervisorStart, ALauncherThatIsMissingIsUnavailable) {
  RecordingListener listener;
  const int before = CountDescriptors();
  const auto started = Supervisor::Start({"/nonexistent/launcher", HostPath(), &listener});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(started.error().message.find("/nonexistent/launcher"), std::string::npos);
  EXPECT_EQ(CountDescriptors(), before);
}

}  // namespace
}  // namespace native_runner
