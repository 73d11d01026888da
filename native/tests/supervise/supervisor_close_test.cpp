#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "supervise/session/session.h"
#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/supervisor_fixture.h"

namespace native_runner {
namespace {

// Each test's end checks that no descriptor and no child is left, and that nothing came late.
class SupervisorCloseTest : public SupervisorFixture {};

TEST_F(SupervisorCloseTest, EndsWhatRunsAndRefusesWhatWaits) {
  for (std::uint64_t run = 1; run <= 5; ++run) {
    SubmitShell(run,
                "echo $$ >> log; sleep 60 & echo $! >> log; echo up" + std::to_string(run) +
                    " >> log; wait",
                kLane, 3);
  }
  for (const char* up : {"up1", "up2", "up3"})
    ASSERT_TRUE(WaitForText("log", up));
  StopSupervisor();
  for (std::uint64_t run = 1; run <= 3; ++run) {
    EXPECT_FALSE(Result(run).rejection);
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  }
  for (std::uint64_t run = 4; run <= 5; ++run) {
    ASSERT_TRUE(Result(run).rejection);
    EXPECT_EQ(Result(run).rejection->code, ErrorCode::kClosed);
  }
  std::istringstream lines(workspace_.Read("log"));
  int processes = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("up")) continue;
    EXPECT_FALSE(IsAlive(std::stoi(line))) << line;
    ++processes;
  }
  EXPECT_EQ(processes, 6);
}

TEST_F(SupervisorCloseTest, WithNothingToDo) {
  StopSupervisor();
}

TEST_F(SupervisorCloseTest, RightAfterASubmission) {
  for (std::uint64_t run = 1; run <= 20; ++run)
    SubmitShell(run, "sleep 60");
  StopSupervisor();
  EXPECT_EQ(listener_->order().size(), 20u);
}

TEST_F(SupervisorCloseTest, Twice) {
  SubmitShell(1, "sleep 60");
  supervisor_->Close();
  supervisor_->Close();
  EXPECT_TRUE(listener_->WaitClosed());
  supervisor_->Close();
  supervisor_->Abort(1);
  SubmitShell(2, "touch started");
  StopSupervisor();
  EXPECT_EQ(listener_->order(), std::vector<std::uint64_t>{1});
  EXPECT_FALSE(workspace_.Has("started"));
}

TEST_F(SupervisorCloseTest, WhileARuntimeIsProbed) {
  const std::string stub = workspace_.Write("bwrap", "#!/bin/sh\nexec sleep 60\n", 0755);
  BubblewrapPolicy policy = SandboxPolicy(workspace_.path());
  policy.bwrap_path = stub;
  const auto runtime = std::make_shared<BubblewrapBackend>(policy);
  for (std::uint64_t run = 1; run <= 2; ++run)
    Submit(run, ShellRequest("exit 0"), runtime);
  SubmitShell(3, "exit 0");
  Result(3);  // the others have been begun by now
  StopSupervisor();
  for (std::uint64_t run = 1; run <= 2; ++run) {
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  }
}

TEST_F(SupervisorCloseTest, WhileASessionWaitsForItsProgram) {
  const std::string stub = workspace_.Write("bwrap", "#!/bin/sh\nexec sleep 60\n", 0755);
  BubblewrapPolicy policy = SandboxPolicy(workspace_.path());
  policy.bwrap_path = stub;
  const auto runtime = std::make_shared<BubblewrapBackend>(policy);
  supervisor_->OpenSession(1, std::make_shared<SessionBackend>(runtime, SessionRule{}));
  SubmitShell(1, "exit 0");
  Result(1);  // the session has been begun by now
  supervisor_->Close();
  const auto* opened = listener_->WaitOpen(1);
  ASSERT_TRUE(opened != nullptr && !opened->ok());
  EXPECT_EQ(opened->error().code, ErrorCode::kClosed);
  StopSupervisor();
}

TEST_F(SupervisorCloseTest, WhileAFloodIsRead) {
  ExecRequest request = ShellRequest("echo up > log; exec cat /dev/zero");
  request.limits.max_stdout_bytes = 1'000;
  Submit(1, std::move(request), Local(workspace_.path()));
  ASSERT_TRUE(WaitForText("log", "up"));
  StopSupervisor();
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kAborted);
  EXPECT_LE(Result(1).out.bytes.size(), 1'000u);
}

// A command may stop its launcher (outside a pid namespace it has the same uid) or its group.
TEST_F(SupervisorCloseTest, ThoughTheLauncherWasStopped) {
  SubmitShell(1, "echo up > log; kill -STOP $PPID; sleep 60");
  ASSERT_TRUE(WaitForText("log", "up"));
  StopSupervisor();
  EXPECT_EQ(Result(1).outcome.kind, OutcomeKind::kAborted);
}

TEST_F(SupervisorCloseTest, SupervisorsDoNotDisturbEachOther) {
  SubmitShell(1, "echo up > log; until [ -e go ]; do sleep 0.02; done; exit 9");
  ASSERT_TRUE(WaitForText("log", "up"));
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([this] {
      RecordingListener listener;
      auto other = Supervisor::Start({LauncherPath(), HostPath(), &listener});
      ASSERT_TRUE(other);
      (*other)->Submit({1, 1, 1, Local(workspace_.path()), ShellRequest("sleep 60")});
      (*other)->Close();
      EXPECT_TRUE(listener.WaitClosed());
    });
  }
  for (std::thread& other : others)
    other.join();
  workspace_.Write("go", "");
  EXPECT_EQ(Result(1).outcome.exit_code, 9);
}

}  // namespace
}  // namespace native_runner
