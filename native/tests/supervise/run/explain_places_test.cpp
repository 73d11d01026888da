// Denials are reported wherever a command runs, and however it ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "supervise/backends/launcher_backends.h"
#include "supervise/session/session.h"
#include "tests/supervise/sandbox/clone_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

ExecRequest Explained(const std::string& script) {
  ExecRequest request = ShellRequest(script);
  request.explain = Explain::kYes;
  return request;
}

bool TellsOf(const RunResult& result, const std::string& path) {
  return std::any_of(result.observations.begin(), result.observations.end(),
                     [&](const Observation& each) { return each.path == path; });
}

bool TellsOfCall(const RunResult& result, const std::string& call) {
  return std::any_of(result.observations.begin(), result.observations.end(),
                     [&](const Observation& each) { return each.call == call; });
}

class ExplainPlacesTest : public CloneFixture {
 protected:
  void RunsInASession(const std::shared_ptr<const Backend>& inner) {
    auto session = std::make_shared<const SessionBackend>(inner, SessionRule{});
    supervisor_->OpenSession(1, session);
    const auto* opened = listener_->WaitOpen(1);
    ASSERT_TRUE(opened != nullptr && opened->ok()) << opened->error().message;
    for (const char* name : {"one", "two"}) {
      Submit(++last_, Explained(std::string("cat /usr/missing-") + name), session);
      EXPECT_TRUE(TellsOf(Result(last_), std::string("/usr/missing-") + name)) << name;
    }
    EXPECT_FALSE(TellsOf(Result(last_), "/usr/missing-one")) << "another command's";
    Submit(++last_, ShellRequest("cat /usr/missing-three"), session);
    EXPECT_TRUE(Result(last_).observations.empty());
  }
};

TEST_F(ExplainPlacesTest, InAClone) {
  Warm();
  for (int turn = 0; turn < 3; ++turn) {
    const RunResult& result = Run(Explained("mkdir /usr/x; cat /usr/missing; exit 4"));
    EXPECT_EQ(result.start, SandboxStart::kCloned) << result.cold_reason;
    EXPECT_EQ(result.outcome.exit_code, 4);
    EXPECT_TRUE(TellsOf(result, "/usr/x"));
    EXPECT_TRUE(TellsOf(result, "/usr/missing"));
  }
}

TEST_F(ExplainPlacesTest, InAPrewarmedSandbox) {
  place_.rule = {1, 600'000, false};
  Warm();
  ASSERT_TRUE(Eventually([this] { return place_.counters->prewarmed == 1; }));
  const RunResult& result = Run(Explained("cat /usr/missing"));
  EXPECT_EQ(result.start, SandboxStart::kPrewarmed);
  EXPECT_TRUE(TellsOf(result, "/usr/missing"));
}

TEST_F(ExplainPlacesTest, InASession) {
  RunsInASession(runtime_);
}

TEST_F(ExplainPlacesTest, InALandlockSession) {
  if (LandlockAbi() == 0) GTEST_SKIP() << NoLandlock().message;
  LandlockPolicy policy;
  policy.shadow_dir = workspace_.path();
  policy.read_dirs = DefaultReadDirs();
  RunsInASession(std::make_shared<const LandlockBackend>(std::move(policy)));
}

TEST_F(ExplainPlacesTest, UnderLandlock) {
  if (LandlockAbi() == 0) GTEST_SKIP() << NoLandlock().message;
  LandlockPolicy policy;
  policy.shadow_dir = workspace_.path();
  policy.read_dirs = DefaultReadDirs();
  Submit(++last_, Explained("cat /root/x /var/lib/dpkg/status; mkdir /usr/y; exit 2"),
         std::make_shared<const LandlockBackend>(std::move(policy)));
  const RunResult& result = Result(last_);
  EXPECT_EQ(result.outcome.exit_code, 2);
  EXPECT_TRUE(TellsOf(result, "/usr/y"));
  const auto seen =
      std::find_if(result.observations.begin(), result.observations.end(),
                   [](const Observation& each) { return each.path == "/var/lib/dpkg/status"; });
  ASSERT_NE(seen, result.observations.end());
  EXPECT_EQ(seen->error, EACCES);
}

TEST_F(ExplainPlacesTest, OnATerminal) {
  ExecRequest request = Explained("cat /usr/missing; exit 3");
  request.kind = SpawnCall{TerminalSize{80, 24}};
  Submit(++last_, std::move(request), runtime_);
  EXPECT_EQ(Result(last_).outcome.exit_code, 3);
  EXPECT_TRUE(TellsOf(Result(last_), "/usr/missing"));
}

TEST_F(ExplainPlacesTest, UpToADeadline) {
  ExecRequest request = Explained("cat /usr/missing; sleep 60");
  request.limits.timeout_ms = Slow(800);
  const RunResult& result = Run(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_TRUE(TellsOf(result, "/usr/missing"));
}

TEST_F(ExplainPlacesTest, UpToAnAbort) {
  const std::uint64_t run = Start(Explained("cat /usr/missing; echo up > up; sleep 60"));
  ASSERT_TRUE(WaitForText("up", "up"));
  supervisor_->Abort(run);
  EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  EXPECT_TRUE(TellsOf(Result(run), "/usr/missing"));
}

TEST_F(ExplainPlacesTest, AsManyAsFit) {
  const RunResult& result = Run(Explained(
      "i=0; while [ $i -lt 10000 ]; do true < /usr/missing-$i; i=$((i+1)); done 2> /dev/null"));
  EXPECT_GT(result.observations.size(), 100u);
  EXPECT_GT(result.observations_omitted, 0u);
}

TEST_F(ExplainPlacesTest, NothingWhereNothingConfines) {
  Submit(++last_, Explained("cat /usr/missing; exit 6"), Local(workspace_.path()));
  EXPECT_EQ(Result(last_).outcome.exit_code, 6);
  EXPECT_TRUE(Result(last_).observations.empty());
}

TEST_F(ExplainPlacesTest, ARefusedCallIsToldWithout) {
  Warm();
  const RunResult& result = Shell("unshare -U true; exit 5");
  EXPECT_EQ(result.outcome.exit_code, 5);
  EXPECT_TRUE(TellsOfCall(result, "unshare"));
  EXPECT_EQ(result.observations.size(), 1u);
  EXPECT_TRUE(Shell("ls /; cat /etc/passwd; sleep 0.01 & wait; true | cat").observations.empty());
}

}  // namespace
}  // namespace native_runner
