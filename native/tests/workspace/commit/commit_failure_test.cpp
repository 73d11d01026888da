// A commit, and an undo, in which a system call fails by itself, or with all that come after it: as
// on a disk that is full, has broken, or has become read-only. Each call that changes something is
// tried; of those that look, which are many, some at even distances, unless
// NATIVE_RUNNER_EVERY_CALL is set.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>

#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

// No code handles one of these errors specially. So each call meets only one of them, and another
// one if it fails for good.
constexpr std::array kNumbers = {EIO, ENOSPC, EROFS, EDQUOT};

struct Way {
  const char* name;
  bool (*counts)(std::uint64_t);
  bool is_lasting;
  int distance;  // from one call that is tried to the next
};

class CommitFailureTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!CallRegisters::kKnown) GTEST_SKIP() << "no call can be made to fail on this processor";
    const ChangedProject project;
    before_ = project.Host();
    changes_ = project.ChangedPaths();
    ASSERT_FALSE(project.Commit().failed);
    after_ = project.Host();
  }

  static int Distance() { return StepsApart(GetParam().distance); }

  static Failure At(int step) {
    const auto at = static_cast<std::size_t>(step / Distance()) + (GetParam().is_lasting ? 1U : 0U);
    return {kNumbers.at(at % kNumbers.size()), step, GetParam().is_lasting, GetParam().counts};
  }

  // Whatever failed, after the next open at the latest the workspace is as before or as committed.
  // If the call reported success, it is as committed.
  void ExpectOneOrTheOther(const ChangedProject& project, bool said_done, bool was_undo,
                           int step) const {
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_committed = HasCommit(project.State().get());
    if (said_done) {
      ASSERT_EQ(is_committed, !was_undo) << step;
      ASSERT_EQ(recovery.value().recovered == Recovered::kRolledBack, false) << step;
    }
    ASSERT_EQ(project.Host(), is_committed ? after_ : before_) << step;
    const std::map<std::string, std::string> none;
    ASSERT_EQ(project.ChangedPaths(), is_committed ? none : changes_) << step;
  }

  TreeText before_;
  TreeText after_;
  std::map<std::string, std::string> changes_;
};

TEST_P(CommitFailureTest, LeavesTheWorkspaceAsItWasOrAsItIsToBe) {
  int failed = 0;
  for (int step = 1; step < kMostSteps; step += Distance()) {
    const ChangedProject project;
    const Stepped stepped = RunFailing(
        [&] { _exit(project.Commit(PathFilter(), project.ledger()).failed ? 1 : 0); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    failed += WEXITSTATUS(stepped.status);
    ExpectOneOrTheOther(project, WEXITSTATUS(stepped.status) == 0, false, step);
    if (HasFatalFailure()) return;
    // The commit succeeds as soon as no call fails any more.
    constexpr int kSome = 8;  // it takes longest
    if (step / Distance() % kSome != 0 || HasCommit(project.State().get())) continue;
    ASSERT_FALSE(project.Commit().failed) << step;
    ASSERT_EQ(project.Host(), after_) << step;
  }
  EXPECT_GT(failed, 5 / StepsApart(1));
}

TEST_P(CommitFailureTest, OfAnUndoLeavesItDoneOrNot) {
  int failed = 0;
  for (int step = 1; step < kMostSteps; step += Distance()) {
    const ChangedProject project;
    ASSERT_FALSE(project.Commit().failed);
    const Stepped stepped = RunFailing([&] { _exit(project.Undo().failed ? 1 : 0); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    failed += WEXITSTATUS(stepped.status);
    ExpectOneOrTheOther(project, WEXITSTATUS(stepped.status) == 0, true, step);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(failed, 5 / StepsApart(1));
}

// An unreadable path does not count as missing.
TEST_P(CommitFailureTest, OfARecoveryLeavesItToTheNext) {
  constexpr int kFar = 37;
  int failed = 0;
  for (int step = 1; step < kMostSteps; step += kFar) {
    for (int call = 1; call < kMostSteps; call += 3 * Distance()) {
      const ChangedProject project;
      const Stepped killed = RunToStep(
          [&] { static_cast<void>(project.Commit(PathFilter(), project.ledger())); }, step, Kill);
      if (!killed.is_traced) GTEST_SKIP() << "no process can be traced here";
      if (!killed.was_reached) {
        EXPECT_GT(failed, 0);
        return;
      }
      const Stepped stepped = RunFailing([&] { _exit(project.Recover() ? 0 : 1); }, At(call));
      failed += WEXITSTATUS(stepped.status);
      ExpectOneOrTheOther(project, false, false, step);
      if (HasFatalFailure()) return;
      if (!stepped.was_reached) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CommitFailureTest,
                         testing::Values(Way{"OneChange", ChangesFiles, false, 1},
                                         Way{"AllChangesFromOneOn", ChangesFiles, true, 2},
                                         Way{"OneLook", LooksAtFiles, false, 11},
                                         Way{"AllLooksFromOneOn", LooksAtFiles, true, 23}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace native_runner
