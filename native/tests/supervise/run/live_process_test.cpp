// Live processes as the supervisor carries them.

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "supervise/run/run_streams.h"
#include "tests/supervise/support/supervisor_fixture.h"

namespace native_runner {
namespace {

class LiveProcessTest : public SupervisorFixture {
 protected:
  void Spawn(std::uint64_t run, const std::string& script, std::optional<TerminalSize> size = {}) {
    ExecRequest request = ShellRequest(script);
    request.kind = SpawnCall{size};
    Submit(run, std::move(request), Local(workspace_.path()), kLane, 1);
    ASSERT_TRUE(listener_->WaitEvents(run, 1));
    EXPECT_EQ(listener_->events(run).front(), LiveEvent::kStarted);
  }

  void Write(std::uint64_t run, const std::string& text) {
    supervisor_->Apply(run, WriteInput{{text.begin(), text.end()}});
  }
};

TEST_F(LiveProcessTest, IsWrittenToAndEnded) {
  Spawn(1, "cat; echo err >&2; exit 4");
  Write(1, "one ");
  ASSERT_TRUE(listener_->WaitEvents(1, 2));
  Write(1, "two");
  supervisor_->Apply(1, EndInput{});
  const RunResult& result = Result(1);
  EXPECT_EQ(result.outcome.exit_code, 4);
  EXPECT_EQ(listener_->Chunks(1, Stream::kStdout), "one two");
  EXPECT_EQ(listener_->Chunks(1, Stream::kStderr), "err\n");
  EXPECT_EQ(result.out.total, 7u);
  EXPECT_EQ(result.err.total, 4u);
  EXPECT_EQ(result.out.bytes.size(), 0u);
  EXPECT_FALSE(result.out.truncated);
  EXPECT_EQ(listener_->events(1),
            std::vector<LiveEvent>({LiveEvent::kStarted, LiveEvent::kInputTaken,
                                    LiveEvent::kInputTaken, LiveEvent::kInputTaken}));
}

TEST_F(LiveProcessTest, TakesSignals) {
  Spawn(1, "trap 'exit 9' TERM; echo up > up; while :; do sleep 0.02; done");
  ASSERT_TRUE(WaitForText("up", "up"));
  supervisor_->Apply(1, SendSignal{SIGTERM});
  EXPECT_EQ(Result(1).outcome.exit_code, 9);
  supervisor_->Apply(1, SendSignal{SIGTERM});  // long over
}

TEST_F(LiveProcessTest, HasATerminal) {
  Spawn(1, "stty size; read -r line; stty size; exit 3", TerminalSize{91, 23});
  supervisor_->Apply(1, ResizeTerminal{{120, 50}});
  Write(1, "go\n");
  EXPECT_EQ(Result(1).outcome.exit_code, 3);
  const std::string shown = listener_->Chunks(1, Stream::kStdout);
  EXPECT_NE(shown.find("50 120\r\n"), std::string::npos) << shown;
  EXPECT_EQ(listener_->Chunks(1, Stream::kStderr), "");
}

TEST_F(LiveProcessTest, IsHeldUpWhileNobodyGrants) {
  Spawn(1, "head -c 1000000 /dev/zero; echo done > done");
  for (int turn = 0; turn < 50; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LE(listener_->Chunks(1, Stream::kStdout).size(), LiveOutput::kWindowBytes);
  }
  EXPECT_FALSE(workspace_.Has("done"));
  std::size_t granted = 0;
  while (!workspace_.Has("done")) {
    const std::size_t size = listener_->Chunks(1, Stream::kStdout).size();
    supervisor_->Apply(1, GrantOutput{Stream::kStdout, size - granted});
    granted = size;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Result(1).out.total, 1'000'000u);
}

TEST_F(LiveProcessTest, EndsByAbortWithInputUnderWayAndOutputUnread) {
  Spawn(1, "echo up > up; yes");
  ASSERT_TRUE(WaitForText("up", "up"));
  Write(1, std::string(4 << 20, 'x'));
  supervisor_->Abort(1);
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(listener_->events(1),
            std::vector<LiveEvent>({LiveEvent::kStarted, LiveEvent::kInputClosed}));
}

TEST_F(LiveProcessTest, IsInNoLane) {
  for (const std::uint64_t run : {1u, 2u, 3u})
    Spawn(run, "sleep 60");
  SubmitShell(4, "exit 0", kLane, 1);
  EXPECT_EQ(Result(4).outcome.kind, OutcomeKind::kExited);
  for (const std::uint64_t run : {1u, 2u})
    supervisor_->Abort(run);
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(Result(2).outcome.kind, OutcomeKind::kAborted);
  StopSupervisor();  // ends the third
  EXPECT_EQ(Result(3).outcome.kind, OutcomeKind::kAborted);
}

TEST_F(LiveProcessTest, OrdersForARunThatIsNoneAreDropped) {
  supervisor_->Apply(77, EndInput{});
  SubmitShell(1, "sleep 0.1");
  supervisor_->Apply(1, SendSignal{SIGKILL});  // a run of exec takes none
  Write(1, "x");
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kExited);
}

}  // namespace
}  // namespace native_runner
