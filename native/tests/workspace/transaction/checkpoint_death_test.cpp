// A checkpoint, and a rollback, whose process dies before each of its system calls that change
// something.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workspace/support/checkpointed.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

class CheckpointDeathTest : public testing::TestWithParam<CheckpointNames> {};

TEST_P(CheckpointDeathTest, LeavesAWholeOneOrNone) {
  int made = 0;
  int none = 0;
  const int apart = StepsApart(GetParam(), 1);
  for (int step = 1; step < kMostSteps; step += apart) {
    const Checkpointed project(GetParam());
    const auto before = project.Seen();
    const Stepped stepped = RunToStep(
        [&] {
          if (!project.Make()) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_EQ(project.Seen(), before) << step;
    const auto ids = project.Ids();
    ASSERT_LE(ids.size(), 1U) << step;
    (ids.empty() ? none : made) += 1;
    ASSERT_FALSE(TidyCheckpoints(project.state())) << step;
    if (project.Has("checkpoints")) {
      std::size_t left = 0;
      for ([[maybe_unused]] const auto& entry :
           std::filesystem::directory_iterator(project.at().place().Path("state/checkpoints")))
        ++left;
      ASSERT_EQ(left, ids.size()) << step;
    }
    const auto again = project.Make();
    ASSERT_TRUE(again) << step << ": " << again.error().message;
    ASSERT_EQ(project.Ids().size(), ids.size() + 1) << step;
    project.ChangeMore();
    for (const std::string& id : ids) {
      ASSERT_FALSE(project.RollBack(id)) << step;
      ASSERT_EQ(project.Ids().size(), 1U) << step;
      ASSERT_EQ(project.Seen(), before) << step;
    }
  }
  EXPECT_GT(none, 50 / apart);
  // The last of its calls makes it whole.
  EXPECT_EQ(made, 0);
}

struct DeathOutcome {
  bool is_done;
  bool was_traced;
  bool was_reached;
};

class RollbackDeathTest : public testing::TestWithParam<CheckpointNames> {
 protected:
  // Dies in a rollback, and in what takes care of that, `second` steps later; 0: not there.
  static DeathOutcome DieAt(int step, int second) {
    const Checkpointed project(GetParam());
    const auto first = project.Make("first");
    EXPECT_TRUE(first);
    const auto before = project.Seen();
    project.ChangeMore();
    EXPECT_TRUE(project.Make("second"));
    const auto after = project.Seen();
    EXPECT_NE(before, after);
    const Stepped stepped = RunToStep(
        [&] {
          if (project.RollBack(first.value().id)) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced || !stepped.was_reached) return {false, stepped.is_traced, false};
    bool was_done = !NeedsRollback(project.state()) && project.Ids().size() == 1;
    if (second > 0) {
      const bool needs = NeedsRollback(project.state());
      const Stepped again = RunToStep([&] { static_cast<void>(project.Recover()); }, second, Kill);
      if (!again.was_reached) return {was_done, true, false};
      was_done = was_done || (needs && !NeedsRollback(project.state()));
    }
    const auto recovered = project.Recover();
    EXPECT_TRUE(recovered) << step;
    if (!recovered) return {false, true, true};
    const bool is_done = was_done || recovered.value();
    EXPECT_EQ(project.Ids().size(), is_done ? 1U : 2U) << step << ", " << second;
    EXPECT_EQ(project.Seen(), is_done ? before : after) << step << ", " << second;
    project.ExpectTidy();
    return {is_done, true, true};
  }
};

TEST_P(RollbackDeathTest, LeavesItDoneOrNotBegun) {
  int done = 0;
  int not_begun = 0;
  // Less than the calls by which it is completed, with a sanitizer too.
  const int apart = StepsApart(GetParam().is_copy ? 7 : 3);
  for (int step = 1; step < kMostSteps; step += apart) {
    const DeathOutcome outcome = DieAt(step, 0);
    if (!outcome.was_traced) GTEST_SKIP() << "no process can be traced here";
    if (!outcome.was_reached) break;
    if (HasFailure()) return;
    (outcome.is_done ? done : not_begun) += 1;
  }
  EXPECT_GT(done, 20 / apart);
  EXPECT_GT(not_begun, 50 / apart);
}

TEST_P(RollbackDeathTest, OfARecoveryIsRecoveredFrom) {
  int reached = 0;
  for (int step = 5; step < kMostSteps; step += StepsApart(29)) {
    for (int second = 1; second < kMostSteps; second += StepsApart(GetParam(), 17)) {
      const DeathOutcome outcome = DieAt(step, second);
      if (!outcome.was_traced) GTEST_SKIP() << "no process can be traced here";
      if (HasFailure()) return;
      if (!outcome.was_reached) break;
      ++reached;
    }
    if (!DieAt(step, 0).was_reached) break;
  }
  EXPECT_GT(reached, 0);
}

INSTANTIATE_TEST_SUITE_P(, CheckpointDeathTest, testing::Values(kOverlayNames, kCopyNames), KindOf);
INSTANTIATE_TEST_SUITE_P(, RollbackDeathTest, testing::Values(kOverlayNames, kCopyNames), KindOf);

}  // namespace
}  // namespace native_runner
