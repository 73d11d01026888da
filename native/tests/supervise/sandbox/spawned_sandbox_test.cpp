// A sandbox with a shell in the launcher's place, whose messages arrive as the launcher's reports.

#include "supervise/sandbox/spawned_sandbox.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/report.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class RecordingUser : public Sandbox::User {
 public:
  void OnReport(const Report& report) override { reports.push_back(report.kind); }
  void OnGone() override { is_gone = true; }

  std::vector<ReportKind> reports;
  bool is_gone = false;
};

std::string MessageOf(ReportKind kind) {
  Report report;
  report.kind = kind;
  return {reinterpret_cast<const char*>(&report), sizeof report};
}

// A launcher may find its order not there yet, and say so, although it is on its way.
TEST(SpawnedSandbox, TellsThatItIsReadyWhenItHasWaitedForAMomentBefore) {
  const TempDirectory directory;
  const std::string standing = directory.Write("standing", MessageOf(ReportKind::kAwaitingOrder));
  const std::string ready = directory.Write("ready", MessageOf(ReportKind::kReady));
  TestLoop loop;
  RecordingUser user;
  // cat(1) writes a small file at once: one message each.
  SpawnOptions spawn =
      ShellOrder("cat " + standing + " >&3; while ! test -e " + directory.Path("seen") +
                 "; do sleep 0.01; done; cat " + ready + " >&3; exec sleep 60");
  auto sandbox = SpawnedSandbox::Spawn({.spawn = std::move(spawn), .own_init = true});
  ASSERT_TRUE(sandbox) << sandbox.error().message;
  ASSERT_TRUE((*sandbox)->Watch(loop.get(), &user, true));
  const std::array<std::byte, 1> order{};
  EXPECT_EQ((*sandbox)->SendOrder(order), LauncherChannel::Sent::kSent);
  EXPECT_TRUE(loop.RunUntil([&] { return !user.reports.empty(); }));
  directory.Write("seen", "");
  EXPECT_TRUE(loop.RunUntil([&] { return user.reports.size() > 1; }));
  EXPECT_EQ(user.reports, (std::vector{ReportKind::kAwaitingOrder, ReportKind::kReady}));
  (*sandbox)->End();
  EXPECT_TRUE(loop.RunUntil([&] { return user.is_gone; }));
}

// A sandbox that makes mounts gets no order before they are cut off from the host's. Where that is
// impossible, as without the launcher's pidfd here, the order never comes.
TEST(SpawnedSandbox, RefusesWhereItsMountsCanNotBeCutOff) {
  for (const bool makes_mounts : {false, true}) {
    const TempDirectory directory;
    const std::string standing = directory.Write("standing", MessageOf(ReportKind::kAwaitingOrder));
    TestLoop loop;
    RecordingUser user;
    SpawnOptions spawn = ShellOrder("cat " + standing + " >&3; head -c 1 <&3 > " +
                                    directory.Path("got") + "; exec sleep 60");
    spawn.makes_mounts = makes_mounts;
    auto sandbox = SpawnedSandbox::Spawn({std::move(spawn), true});
    ASSERT_TRUE(sandbox) << sandbox.error().message;
    ASSERT_TRUE((*sandbox)->Watch(loop.get(), &user, false));
    const std::array<std::byte, 1> order{};
    EXPECT_EQ((*sandbox)->SendOrder(order), LauncherChannel::Sent::kSent);
    const auto got = [&] { return directory.Read("got"); };
    EXPECT_TRUE(loop.RunUntil([&] { return !got().empty(); }));
    EXPECT_EQ(got(), std::string(1, makes_mounts ? kKillMessage : kOrderMessage));
    (*sandbox)->End();
    EXPECT_TRUE(loop.RunUntil([&] { return user.is_gone; }));
    const bool is_refused = !user.reports.empty() && user.reports[0] == ReportKind::kRefused;
    EXPECT_EQ(is_refused, makes_mounts);
  }
}

}  // namespace
}  // namespace native_runner
