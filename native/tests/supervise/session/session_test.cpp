// Sessions with the real bwrap, Landlock and launcher, through a supervisor.

#include "supervise/session/session.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "supervise/backends/launcher_backends.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/supervisor_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

enum class Kind { kBubblewrap, kLandlock };

// Our descendants that have no living child.
std::vector<pid_t> Leaves() {
  std::vector<pid_t> leaves;
  std::vector<pid_t> found = ChildrenOf(getpid());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> children = ChildrenOf(found[i]);
    if (children.empty()) leaves.push_back(found[i]);
    found.insert(found.end(), children.begin(), children.end());
  }
  return leaves;
}

// Between commands: the one launcher that waits for the next. The last one's may be about to exit.
std::vector<pid_t> WaitForPrewarmed() {
  std::vector<pid_t> leaves = Leaves();
  for (int turn = 0; turn < Slow(2'000); ++turn) {
    usleep(5'000);
    const std::vector<pid_t> before = std::exchange(leaves, Leaves());
    if (leaves.size() == 1 && leaves == before) break;
  }
  return leaves;
}

class SessionTest : public SupervisorFixture, public testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    if (!Problem().empty()) GTEST_SKIP() << Problem();
    SupervisorFixture::SetUp();
  }
  void TearDown() override {
    if (Problem().empty()) SupervisorFixture::TearDown();
  }

  static std::string Problem() {
    if (GetParam() == Kind::kBubblewrap) return SandboxProblem();
    return LandlockAbi() == 0 ? NoLandlock().message : "";
  }

  std::shared_ptr<const Backend> Inner() {
    if (GetParam() == Kind::kBubblewrap) return Sandboxed(workspace_.path(), Isolation::kStrict);
    LandlockPolicy policy;
    policy.shadow_dir = workspace_.path();
    policy.read_dirs = DefaultReadDirs();
    return std::make_shared<const LandlockBackend>(std::move(policy));
  }

  std::shared_ptr<const SessionBackend> Open(SessionRule rule = {}) {
    auto runtime = std::make_shared<const SessionBackend>(Inner(), rule);
    supervisor_->OpenSession(++session_, runtime);
    const auto* opened = listener_->WaitOpen(session_);
    EXPECT_TRUE(opened != nullptr && opened->ok())
        << (opened == nullptr ? "did not open" : opened->error().message);
    return runtime;
  }

  const RunResult& Run(const std::shared_ptr<const Backend>& runtime, ExecRequest request) {
    Submit(++last_, std::move(request), runtime);
    return Result(last_);
  }

  std::uint64_t session_ = 0;
  std::uint64_t last_ = 0;
};

TEST_P(SessionTest, RunsManyCommands) {
  const auto session = Open();
  for (int turn = 0; turn < 20; ++turn) {
    const std::string word = "turn " + std::to_string(turn);
    ExecRequest request = ShellRequest("cat; echo err >&2; exit " + std::to_string(turn));
    request.stdin_bytes.assign(word.begin(), word.end());
    const RunResult& result = Run(session, std::move(request));
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
    EXPECT_EQ(result.outcome.exit_code, turn);
    EXPECT_EQ(Text(result.out.bytes), word);
    EXPECT_EQ(Text(result.err.bytes), "err\n");
    EXPECT_GT(result.usage.peak_memory_bytes, 0u);
  }
  EXPECT_EQ(Run(session, CommandRequest({"no-such"})).outcome.kind, OutcomeKind::kNotFound);
}

TEST_P(SessionTest, ACommandsEndIsNotTheSessions) {
  const auto session = Open();
  const std::string mark = "60." + std::to_string(getpid());
  Submit(100, ShellRequest("echo up > up; sleep 2; echo well"), session);
  ASSERT_TRUE(WaitForText("up", "up"));
  ExecRequest late = ShellRequest("setsid sleep " + mark + " & sleep " + mark);
  late.limits.timeout_ms = 100;
  EXPECT_EQ(Run(session, std::move(late)).outcome.kind, OutcomeKind::kTimedOut);
  const RunResult& left = Run(session, ShellRequest("setsid sleep " + mark + " & exit 5"));
  EXPECT_EQ(left.outcome.exit_code, 5);
  EXPECT_EQ(CountMarked(mark), 0);
  EXPECT_EQ(Text(Result(100).out.bytes), "well\n");
}

TEST_P(SessionTest, ClosesWithWhatRunsInIt) {
  const auto session = Open();
  const std::string mark = "61." + std::to_string(getpid());
  Submit(100, ShellRequest("echo up > up; setsid sleep " + mark + " & sleep " + mark), session);
  ASSERT_TRUE(WaitForText("up", "up"));
  supervisor_->CloseSession(session_);
  EXPECT_EQ(listener_->WaitGone(session_), "it was closed");
  EXPECT_EQ(CountMarked(mark), 0);
  EXPECT_EQ(Result(100).outcome.kind, OutcomeKind::kSignaled);
  const RunResult& late = Run(session, ShellRequest("exit 0"));
  ASSERT_TRUE(late.rejection);
  EXPECT_EQ(late.rejection->code, ErrorCode::kClosed);
}

TEST_P(SessionTest, EndsWhenItIsIdle) {
  const auto session = Open({.idle_ms = 50});
  EXPECT_NE(listener_->WaitGone(session_).find("idleTimeoutMs"), std::string::npos);
}

TEST_P(SessionTest, EndsAfterItsCommands) {
  const auto session = Open({.max_commands = 2});
  EXPECT_EQ(Run(session, ShellRequest("exit 1")).outcome.exit_code, 1);
  EXPECT_EQ(Run(session, ShellRequest("exit 2")).outcome.exit_code, 2);
  EXPECT_NE(listener_->WaitGone(session_).find("maxCommands"), std::string::npos);
}

// A process of the host may end the launcher that is ready for the next command. Nothing has run in
// it, so the next command gets another one.
TEST_P(SessionTest, DoesNotNeedTheLauncherThatStands) {
  const auto session = Open();
  EXPECT_EQ(Run(session, ShellRequest("exit 1")).outcome.exit_code, 1);
  for (int turn = 2; turn < 6; ++turn) {
    const std::vector<pid_t> prewarmed = WaitForPrewarmed();
    ASSERT_EQ(prewarmed.size(), 1u);
    kill(prewarmed[0], SIGKILL);
    ASSERT_TRUE(IsGoneSoon(prewarmed[0]));
    const RunResult& next = Run(session, ShellRequest("exit " + std::to_string(turn)));
    EXPECT_EQ(next.outcome.kind, OutcomeKind::kExited) << next.outcome.reason;
    EXPECT_EQ(next.outcome.exit_code, turn);
  }
}

TEST_P(SessionTest, NoneStandsAfterTheLastCommand) {
  const auto session = Open({.max_commands = 1});
  EXPECT_EQ(Run(session, ShellRequest("exit 1")).outcome.exit_code, 1);
  EXPECT_NE(listener_->WaitGone(session_).find("maxCommands"), std::string::npos);
  EXPECT_TRUE(ChildrenOf(getpid()).empty());
}

TEST_P(SessionTest, HandsOnAShellsState) {
  const auto session = Open({.keeps_shell = true});
  EXPECT_EQ(Run(session, CommandRequest({"sh", "-c", "mkdir d && cd d && A='x y'; exit 3"}))
                .outcome.exit_code,
            3);
  const RunResult& next =
      Run(session, CommandRequest({"sh", "-c", "pwd; echo $A $0 $1", "z", "1"}));
  EXPECT_NE(Text(next.out.bytes).find("/d\nx y z 1\n"), std::string::npos) << Text(next.out.bytes);
  EXPECT_EQ(Text(next.err.bytes), "");
  EXPECT_NE(Text(Run(session, CommandRequest({"pwd"})).out.bytes).find("/d\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, SessionTest, testing::Values(Kind::kBubblewrap, Kind::kLandlock),
                         [](const auto& kind) {
                           return kind.param == Kind::kBubblewrap ? "Bubblewrap" : "Landlock";
                         });

}  // namespace
}  // namespace native_runner
