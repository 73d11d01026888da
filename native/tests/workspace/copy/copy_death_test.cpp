// A commit of what was changed in a copy, and an undo, whose process dies before each of its system
// calls that change something.
#include <gtest/gtest.h>

#include "tests/workspace/support/copied_project.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

class CopyDeathTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system";
    const CopiedProject project(GetParam());
    before_ = project.Host();
    project.Change();
    const CommitEnd end = project.Commit();
    ASSERT_FALSE(end.failed) << end.failed->message;
    after_ = project.Host();
    ASSERT_NE(before_, after_);
    ASSERT_EQ(after_, project.Copies()) << "the host has what the copy has";
  }

  TreeText before_;
  TreeText after_;
};

TEST_P(CopyDeathTest, OfACommitLeavesTheWorkspaceAsItWasOrAsItIsToBe) {
  int rolled_back = 0;
  int completed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const CopiedProject project(GetParam());
    project.Change();
    const TreeText copies = project.Copies();
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Commit().failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step;
    ASSERT_EQ(project.Copies(), copies) << step << ": a copy stays as it is";
    ASSERT_TRUE(is_done || project.BesideHost() == 0) << step;
    rolled_back += recovery.value().recovered == Recovered::kRolledBack ? 1 : 0;
    completed += recovery.value().recovered == Recovered::kCompleted ? 1 : 0;
    if (!is_done) continue;
    ASSERT_FALSE(project.Undo().failed) << step;
    ASSERT_EQ(project.Host(), before_) << step;
    ASSERT_EQ(project.BesideHost(), 0U) << step;
  }
  EXPECT_GT(rolled_back, 15 / StepsApart(1));
  EXPECT_TRUE(completed > 0 || StepsApart(1) > 1);
}

TEST_P(CopyDeathTest, OfAnUndoLeavesItDoneOrNot) {
  int rolled_back = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const CopiedProject project(GetParam());
    project.Change();
    ASSERT_FALSE(project.Commit().failed);
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Undo().failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step;
    ASSERT_TRUE(is_done || project.BesideHost() == 0) << step;
    rolled_back += recovery.value().recovered == Recovered::kRolledBack ? 1 : 0;
  }
  EXPECT_GT(rolled_back, 15 / StepsApart(1));
}

INSTANTIATE_TEST_SUITE_P(, CopyDeathTest, testing::Bool(), [](const auto& given) {
  return std::string(given.param ? "OnTwoFileSystems" : "OnOneFileSystem");
});

}  // namespace
}  // namespace native_runner
