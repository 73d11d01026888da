// Runs with a lease, by the supervisor's own look at it and by that of their launchers.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "supervise/preparation/leases.h"
#include "supervise/run/run.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

constexpr char kCounts[] = "while :; do echo x >> count; sleep 0.01; done";

class RunLeaseTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
  }

  std::shared_ptr<const Backend> runtime() {
    return GetParam() ? Sandboxed(workspace_.path()) : Local(workspace_.path());
  }
  static std::shared_ptr<Lease> Make(std::uint64_t term_ms) {
    return std::make_shared<Lease>(term_ms, LeaseNow());
  }
  static ExecRequest Leased(const std::string& script, std::shared_ptr<const Lease> lease) {
    ExecRequest request = ShellRequest(script);
    request.lease = std::move(lease);
    return request;
  }
  static void ExpectExpired(const RunResult& result) {
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kLeaseExpired) << result.outcome.reason;
    EXPECT_EQ(result.outcome.exit_code, 137);
  }

  TempDirectory workspace_;
  RunHost host_;
};

TEST_P(RunLeaseTest, EndWithIt) {
  const RunResult result =
      host_.Execute(runtime(), Leased("(setsid sleep 1000 &); sleep 1000", Make(Slow(1000))));
  ExpectExpired(result);
  EXPECT_EQ(result.kill, Kill::kProved);
}

TEST_P(RunLeaseTest, AreNotStartedAfterIt) {
  const auto ended = std::make_shared<Lease>(1, LeaseNow() - 2'000'000);
  const RunResult result = host_.Execute(runtime(), Leased("echo x >> count", ended));
  ExpectExpired(result);
  EXPECT_EQ(result.kill, Kill::kNone);
  EXPECT_EQ(workspace_.Read("count"), "");
}

TEST_P(RunLeaseTest, GoOnWhileItIsRenewed) {
  const auto lease = Make(Slow(500));
  Timer beat;
  beat.Start(host_.loop().get(), 0, 20, [&] {
    if (lease->Renew(LeaseNow())) host_.shared.leases.NoteRenewed(lease);
  });
  const RunResult result = host_.Execute(runtime(), Leased("sleep 2; exit 7", lease));
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
  EXPECT_EQ(result.outcome.exit_code, 7);
}

TEST_P(RunLeaseTest, EndWithoutTheSupervisor) {
  const auto lease = Make(Slow(1500));
  const auto run = host_.Start(runtime(), Leased(kCounts, lease));
  ASSERT_TRUE(host_.loop().RunUntil([&] { return !workspace_.Read("count").empty(); }));
  while (!lease->HasEnded(LeaseNow()))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const std::string counted = workspace_.Read("count");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(workspace_.Read("count"), counted);
  ExpectExpired(host_.Wait());
}

// The first cause is the outcome, also if the host looks late.
TEST_P(RunLeaseTest, ThatHaveEndedBeforeItAreToldSo) {
  const auto lease = Make(Slow(1500));
  const auto run = host_.Start(runtime(), Leased("echo x >> count; exit 7", lease));
  ASSERT_TRUE(host_.loop().RunUntil([&] { return !workspace_.Read("count").empty(); }));
  while (!lease->HasEnded(LeaseNow()))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const RunResult result = host_.Wait();
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited);
  EXPECT_EQ(result.outcome.exit_code, 7);
}

// A worker may abort them so, if it sees the end of the lease a moment before the launcher.
TEST_P(RunLeaseTest, ThatAreAbortedAfterItWereEndedByIt) {
  const auto lease = Make(Slow(1500));
  const auto run = host_.Start(runtime(), Leased("echo x >> count; sleep 1000", lease));
  ASSERT_TRUE(host_.loop().RunUntil([&] { return !workspace_.Read("count").empty(); }));
  while (!lease->HasEnded(LeaseNow()))
    std::this_thread::yield();
  run->Abort();
  ExpectExpired(host_.Wait());
}

TEST_P(RunLeaseTest, ThatAreAbortedBeforeItAreToldSo) {
  const auto run = host_.Start(runtime(), Leased("echo x >> count; sleep 1000", Make(600'000)));
  ASSERT_TRUE(host_.loop().RunUntil([&] { return !workspace_.Read("count").empty(); }));
  run->Abort();
  EXPECT_EQ(host_.Wait().outcome.kind, OutcomeKind::kAborted);
}

std::string NameOf(const testing::TestParamInfo<bool>& in_sandbox) {
  return in_sandbox.param ? "Sandboxed" : "Local";
}
INSTANTIATE_TEST_SUITE_P(Runtimes, RunLeaseTest, testing::Bool(), NameOf);

}  // namespace
}  // namespace native_runner
