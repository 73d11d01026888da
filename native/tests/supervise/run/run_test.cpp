#include "supervise/run/run.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>

#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

class RunTest : public testing::Test {
 protected:
  RunResult Execute(ExecRequest request) {
    return host_.Execute(Local(workspace_.path()), std::move(request));
  }
  RunResult Shell(const std::string& script) { return Execute(ShellRequest(script)); }

  TempDirectory workspace_;
  RunHost host_;
};

TEST_F(RunTest, ExitsWithCodeAndOutput) {
  const RunResult result = Shell("echo out; echo err >&2; exit 7");
  EXPECT_FALSE(result.rejection);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(result.outcome.exit_code, 7);
  EXPECT_EQ(Text(result.out.bytes), "out\n");
  EXPECT_EQ(Text(result.err.bytes), "err\n");
  EXPECT_EQ(result.out.total, 4u);
  EXPECT_FALSE(result.out.truncated);
  EXPECT_GT(result.duration_ms, 0);
  EXPECT_GT(result.usage.peak_memory_bytes, 100'000u);
  EXPECT_EQ(result.record.runtime, "local");
  EXPECT_EQ(result.record.cwd, workspace_.path());
}

TEST_F(RunTest, GetsItsEnvironmentDirectoryAndNoInput) {
  ExecRequest request = ShellRequest("echo \"$A|$PWD\"; cat");
  request.environment = {"A=one two", "PATH=/usr/bin:/bin"};
  EXPECT_EQ(Text(Execute(std::move(request)).out.bytes), "one two|" + workspace_.path() + "\n");
}

TEST_F(RunTest, IsSignaled) {
  const RunResult result = Shell("kill -TERM $$");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSignaled);
  EXPECT_EQ(result.outcome.signal, SIGTERM);
  EXPECT_EQ(result.outcome.exit_code, 128 + SIGTERM);
}

TEST_F(RunTest, IsNotFound) {
  const RunResult result = Execute(CommandRequest({"no-such-command-at-all"}));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kNotFound);
  EXPECT_EQ(result.outcome.exit_code, 127);
}

TEST_F(RunTest, IsNotExecutable) {
  const std::string file = workspace_.Write("plain", "text", 0644);
  for (const std::string& path : {file, workspace_.path()}) {
    const RunResult result = Execute(CommandRequest({path}));
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kNotExecutable) << path;
    EXPECT_EQ(result.outcome.exit_code, 126);
  }
}

TEST_F(RunTest, TimesOutAndKeepsWhatWasWritten) {
  ExecRequest request = ShellRequest("echo before; sleep 60; echo after");
  request.limits.timeout_ms = Slow(150);
  const RunResult result = Execute(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_EQ(result.outcome.exit_code, 124);
  EXPECT_EQ(Text(result.out.bytes), "before\n");
  EXPECT_GE(result.duration_ms, 149);
  EXPECT_LT(result.duration_ms, Slow(10'000));
}

TEST_F(RunTest, IsAborted) {
  const auto run = host_.Start(Local(workspace_.path()), ShellRequest("touch up; exec sleep 60"));
  ASSERT_TRUE(host_.loop().RunUntil([this] { return workspace_.Has("up"); }));
  run->Abort();
  run->Abort();
  const RunResult result = host_.Wait();
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(result.outcome.exit_code, 130);
  run->Abort();  // long over: nothing more comes
  host_.loop().RunFor(20);
}

TEST_F(RunTest, IsAbortedBeforeItsCommandRuns) {
  const auto run = host_.Start(Local(workspace_.path()), ShellRequest("sleep 60"));
  run->Abort();
  EXPECT_EQ(host_.Wait().outcome.kind, OutcomeKind::kAborted);
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(RunTest, TheFirstCauseOfTheEndStays) {
  const auto run = host_.Start(Local(workspace_.path()), ShellRequest("exit 3"));
  usleep(Slow(300'000u));  // it has ended, but nobody looked yet
  run->Abort();
  EXPECT_EQ(host_.Wait().outcome.kind, OutcomeKind::kExited);
}

TEST_F(RunTest, AMissingWorkspaceIsASetupFailure) {
  const std::string missing = workspace_.Path("missing");
  const RunResult result = host_.Execute(Local(missing), ShellRequest("exit 0"));
  EXPECT_FALSE(result.rejection);
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.outcome.exit_code, 125);
  EXPECT_NE(result.outcome.reason.find(missing), std::string::npos);
  EXPECT_EQ(Text(result.err.bytes), "native-runner: " + result.outcome.reason + "\n");
}

TEST_F(RunTest, AMissingDirectoryInTheWorkspaceIsASetupFailure) {
  ExecRequest request = ShellRequest("exit 0");
  request.cwd = "missing";
  const RunResult result = Execute(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_NE(result.outcome.reason.find(workspace_.Path("missing")), std::string::npos);
}

TEST_F(RunTest, AMisuseIsARejection) {
  ExecRequest request = ShellRequest("exit 0");
  request.cwd = "../..";
  const RunResult result = Execute(std::move(request));
  ASSERT_TRUE(result.rejection);
  EXPECT_EQ(result.rejection->code, ErrorCode::kInvalidValue);
}

TEST_F(RunTest, ExceedsALimit) {
  ExecRequest file = CommandRequest({"head", "-c", "100000", "/dev/zero"});
  file.argv = {"/bin/sh", "-c", "exec head -c 100000 /dev/zero > file"};
  file.limits.max_file_bytes = 1'000;
  const RunResult result = Execute(std::move(file));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kLimitExceeded);
  EXPECT_EQ(result.outcome.limit, "maxFileBytes");
  EXPECT_EQ(workspace_.Read("file").size(), 1'000u);
}

TEST_F(RunTest, PlanOnlyStartsNothing) {
  ExecRequest request = ShellRequest("touch started");
  request.kind = ExplainCall{};
  const RunResult result = Execute(std::move(request));
  EXPECT_FALSE(result.rejection);
  EXPECT_EQ(result.record.runtime, "local");
  EXPECT_FALSE(workspace_.Has("started"));
}

TEST_F(RunTest, FeedsItsInputAndStreamsItsOutput) {
  const std::string all = Pattern((2 << 20) + 3);
  ExecRequest request = CommandRequest({"cat"});
  request.stdin_bytes = {all.begin(), all.end()};
  request.limits.max_stdout_bytes = 1'500'000;
  request.stream_stdout = true;
  const RunResult result = Execute(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(result.out.total, all.size());
  EXPECT_TRUE(result.out.truncated);
  EXPECT_TRUE(Text(result.out.bytes) == all.substr(0, 1'500'000));
  EXPECT_TRUE(host_.streamed_out == all.substr(0, 1'500'000));
  EXPECT_EQ(host_.streamed_err, "");
}

TEST_F(RunTest, ACommandMayIgnoreItsInput) {
  OnSupervisorLikeThread([this] {
    ExecRequest request = ShellRequest("exec 0<&-; sleep 0.1; echo done");
    request.stdin_bytes.resize(4 << 20);
    EXPECT_EQ(Text(Execute(std::move(request)).out.bytes), "done\n");
  });
}

TEST_F(RunTest, LeavesNothingOfItsTree) {
  const RunResult result =
      Shell("sleep 60 & echo $!; (setsid sleep 60 >/dev/null 2>&1 & echo $!); exit 0");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited);
  const std::string pids = Text(result.out.bytes);
  std::size_t line_end = 0;
  EXPECT_FALSE(IsAlive(std::stoi(pids, &line_end)));
  EXPECT_FALSE(IsAlive(std::stoi(pids.substr(line_end))));
  EXPECT_EQ(CountChildren(), 0);
}

}  // namespace
}  // namespace native_runner
