// A checkpoint, and a rollback, in which one system call fails.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/effects/support/checkpointed.h"
#include "tests/effects/support/stepping.h"

namespace native_runner {
namespace {

constexpr int kStride = 4;

class CheckpointFailureTest : public testing::TestWithParam<bool (*)(std::uint64_t)> {
 protected:
  static Failure At(int step) { return {EIO, step, false, GetParam()}; }
};

TEST_P(CheckpointFailureTest, LeavesAWholeCheckpointOrNone) {
  int failed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(kStride)) {
    const Checkpointed project;
    const auto before = project.Upper();
    const Stepped stepped = RunFailing([&] { _exit(project.Make() ? 0 : 1); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    const bool is_made = WEXITSTATUS(stepped.status) == 0;
    failed += is_made ? 0 : 1;
    const auto ids = project.Ids();
    ASSERT_EQ(ids.size(), is_made ? 1U : 0U) << step;
    ASSERT_EQ(project.Upper(), before) << step;
    project.ChangeMore();
    for (const std::string& id : ids) {
      ASSERT_FALSE(RollBackTo(project.state(), id)) << step;
      ASSERT_EQ(project.Upper(), before) << step;
    }
    ASSERT_TRUE(project.Make()) << step;
  }
  EXPECT_GT(failed, 10 / StepsApart(1));
}

TEST_P(CheckpointFailureTest, LeavesARollbackDoneOrNotBegun) {
  int failed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(kStride)) {
    const Checkpointed project;
    const auto first = project.Make("first");
    ASSERT_TRUE(first);
    const auto before = project.Upper();
    project.ChangeMore();
    const auto after = project.Upper();
    const std::string ledger = project.Ledger();
    const std::string& id = first.value().id;
    const Stepped stepped =
        RunFailing([&] { _exit(RollBackTo(project.state(), id) ? 1 : 0); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    bool is_done = WEXITSTATUS(stepped.status) == 0;
    failed += is_done ? 0 : 1;
    ASSERT_FALSE(is_done && NeedsRollback(project.state())) << step;
    const auto recovered = RecoverRollback(project.state());
    ASSERT_TRUE(recovered) << step << ": " << recovered.error().message;
    is_done = is_done || recovered.value() || project.Ledger() != ledger;
    ASSERT_EQ(project.Upper(), is_done ? before : after) << step;
    ASSERT_EQ(project.Ledger(), is_done ? project.KeptLedger() : ledger) << step;
    ASSERT_EQ(project.Ids().size(), 1U) << step;
    project.ExpectTidy();
    ASSERT_FALSE(RollBackTo(project.state(), id)) << step;
    ASSERT_EQ(project.Upper(), before) << step;
  }
  EXPECT_GT(failed, 10 / StepsApart(1));
}

INSTANTIATE_TEST_SUITE_P(, CheckpointFailureTest, testing::Values(ChangesFiles, LooksAtFiles),
                         [](const auto& given) {
                           return given.param == ChangesFiles ? "that_changes" : "that_looks";
                         });

}  // namespace
}  // namespace native_runner
