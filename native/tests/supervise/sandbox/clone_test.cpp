// Runs in sandboxes that were cloned: that they are as any other.

#include <gtest/gtest.h>

#include <sstream>

#include "supervise/session/session.h"
#include "tests/supervise/sandbox/clone_fixture.h"

namespace native_runner {
namespace {

class CloneTest : public CloneFixture {};

TEST_F(CloneTest, OutputInputAndExitAreTheCommands) {
  Warm();
  workspace_.Write("input", "text");
  const RunResult& result = Shell("cat input; pwd; echo $$; echo err >&2; exit 7");
  EXPECT_EQ(result.start, SandboxStart::kCloned);
  EXPECT_EQ(result.cold_reason, "");
  EXPECT_EQ(result.outcome.exit_code, 7);
  EXPECT_EQ(Text(result.out.bytes), "text/workspace\n2\n");
  EXPECT_EQ(Text(result.err.bytes), "err\n");
  EXPECT_EQ(InClone("readlink /proc/self/fd/0; cat"), "/dev/null\n");
  const std::string text = Pattern(3'000'000);
  ExecRequest echoes = CommandRequest({"cat"});
  echoes.stdin_bytes.assign(text.begin(), text.end());
  echoes.limits.max_stdout_bytes = text.size();
  EXPECT_EQ(InClone(std::move(echoes)), text);
  ExecRequest merged = ShellRequest("echo a; echo b >&2; echo c");
  merged.merge_stderr = true;
  EXPECT_EQ(InClone(std::move(merged)), "a\nb\nc\n");
}

TEST_F(CloneTest, ItsLayersAreThoseOfAnyOther) {
  const auto names = [](const RunResult& result) { return result.record.layers.Names(); };
  const RunResult& cold = Shell("true");
  EXPECT_EQ(cold.start, SandboxStart::kCold);
  Warm();
  const RunResult& cloned = Shell("true");
  EXPECT_EQ(cloned.start, SandboxStart::kCloned);
  EXPECT_EQ(names(cloned), names(cold));
  EXPECT_EQ(cloned.record.argv, cold.record.argv);
}

TEST_F(CloneTest, NothingIsLeftFromOneToTheNext) {
  Warm();
  EXPECT_EQ(
      InClone("echo left > /tmp/file; echo left > /dev/shm/file; sleep 600 > /dev/null 2>&1 &"),
      "");
  EXPECT_EQ(InClone("ls -A /tmp /dev/shm; cat /proc/[0-9]*/comm"),
            "/dev/shm:\n\n/tmp:\nlauncher\nsh\n");
}

TEST_F(CloneTest, TmpHasTheSizeOfTheRunsLimit) {
  Warm();
  for (const std::uint64_t mebibytes : {64, 32}) {
    ExecRequest request = ShellRequest("df -k --output=size /tmp | tail -1");
    request.limits.memory_bytes = mebibytes << 20;
    EXPECT_EQ(std::stoul(InClone(std::move(request))), mebibytes << 10);
  }
  EXPECT_GT(std::stoul(InClone("df -k --output=size /tmp | tail -1")), 64u << 10);
}

TEST_F(CloneTest, ManyAtOnceAndInARowLeaveNothing) {
  Warm();
  InClone("true");
  const int before = CountDescriptors();
  const pid_t made = Template();
  for (int turn = 0; turn < 25; ++turn) {
    std::vector<std::uint64_t> runs;
    for (int run = 0; run < 8; ++run)
      runs.push_back(Start(ShellRequest("echo " + std::to_string(run) + " $$")));
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const RunResult& result = Result(runs[run]);
      EXPECT_EQ(Text(result.out.bytes), std::to_string(run) + " 2\n");
      EXPECT_EQ(result.start, SandboxStart::kCloned) << result.cold_reason;
    }
  }
  // Descriptors that were counted before may have been about to close.
  EXPECT_TRUE(Eventually([before] { return CountDescriptors() <= before; }));
  EXPECT_EQ(Template(), made);
  EXPECT_NE(made, 0);
}

TEST_F(CloneTest, ADirectoryThatCannotBeEnteredIsTheRunsFault) {
  Warm();
  const pid_t made = Template();
  ExecRequest request = ShellRequest("touch /workspace/ran");
  request.cwd = "missing";
  const RunResult& result = Run(std::move(request));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_EQ(result.start, SandboxStart::kCloned) << "it was not tried again";
  EXPECT_FALSE(workspace_.Has("ran"));
  EXPECT_EQ(InClone("echo here"), "here\n");
  EXPECT_EQ(Template(), made);
}

TEST_F(CloneTest, ACommandThatDoesNotExistIsItsOwnFault) {
  Warm();
  const RunResult& result = Run(CommandRequest({"/no/such/program"}));
  EXPECT_EQ(result.start, SandboxStart::kCloned);
  EXPECT_EQ(result.outcome.exit_code, 127);
  EXPECT_EQ(InClone("echo here"), "here\n");
}

TEST_F(CloneTest, DeadlinesAndAbortsEndAllOfIt) {
  Warm();
  ExecRequest slow = ShellRequest("setsid sleep 600 & echo before; sleep 600");
  slow.limits.timeout_ms = 300;
  const RunResult& late = Run(std::move(slow));
  EXPECT_EQ(late.outcome.kind, OutcomeKind::kTimedOut);
  EXPECT_EQ(Text(late.out.bytes), "before\n");
  for (int turn = 0; turn < 30; ++turn) {
    const std::uint64_t run = Start(ShellRequest("sleep 600 & sleep 600"));
    std::this_thread::sleep_for(std::chrono::microseconds(300 * turn));
    supervisor_->Abort(run);
    EXPECT_EQ(Result(run).outcome.kind, OutcomeKind::kAborted);
  }
  EXPECT_EQ(InClone("cat /proc/[0-9]*/comm"), "launcher\nsh\n");
}

TEST_F(CloneTest, NetworksByDomainAreTheirOwn) {
  BubblewrapPolicy policy = SandboxPolicy(workspace_.path());
  auto rules = ReadNetworkRules({{"a.test", "b.test:2222"}, {}, {}, false});
  ASSERT_TRUE(rules);
  policy.network = Network::kByDomain;
  policy.by_domain = std::make_shared<const NetworkPolicy>(NetworkPolicy{std::move(*rules), 0});
  runtime_ = std::make_shared<BubblewrapBackend>(policy);
  Warm();
  const std::string script =
      "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == \"0A\" { sub(\".*:\", \"\", $2); "
      "print $2 }' | sort | tr '\\n' ' '; readlink /proc/self/ns/net";
  // One stands while the other runs: the kernel gives a number that has come free to the next.
  const std::uint64_t first = Start(ShellRequest(script + "; echo up > up; sleep 1000"));
  ASSERT_TRUE(WaitForText("up", "up"));
  const std::string other = InClone(script);
  supervisor_->Abort(first);
  const std::string one = Text(Result(first).out.bytes);
  EXPECT_EQ(one.find("0035 0050 01BB 08AE 0C38 net:["), 0u) << one;
  EXPECT_EQ(one.substr(0, 25), other.substr(0, 25));
  EXPECT_NE(one, other) << "each has one of its own";
  const RunResult& result = Shell("true");
  EXPECT_TRUE(result.connections);
}

TEST_F(CloneTest, ASessionIsAClone) {
  Warm();
  const pid_t made = Template();
  ASSERT_NE(made, 0);
  SessionRule rule;
  rule.clones_of = place_.number;
  auto session = std::make_shared<const SessionBackend>(runtime_, rule);
  supervisor_->OpenSession(1, session);
  const auto* opened = listener_->WaitOpen(1);
  ASSERT_TRUE(opened != nullptr && opened->ok());
  EXPECT_EQ(ChildrenOf(getpid()).size(), 1u) << "nothing was spawned for it";
  for (const char* text : {"one", "two"}) {
    Submit(++last_, ShellRequest(std::string("echo ") + text + " >> /tmp/f; cat /tmp/f"), session);
    EXPECT_NE(Text(Result(last_).out.bytes).find(text), std::string::npos);
  }
  Submit(++last_, ShellRequest("cat /tmp/f"), session);
  EXPECT_EQ(Text(Result(last_).out.bytes), "one\ntwo\n");
  EXPECT_EQ(InClone("ls -A /tmp"), "") << "its /tmp is nobody else's";
  kill(made, SIGKILL);
  EXPECT_NE(listener_->WaitGone(1), "");
}

}  // namespace
}  // namespace native_runner
