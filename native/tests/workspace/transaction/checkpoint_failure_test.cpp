// A checkpoint, and a rollback, in which one system call fails.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <tuple>

#include "tests/workspace/support/checkpointed.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

// Between calls that are tried; of those that look there are several times as many.
constexpr int kChangesApart = 4;
constexpr int kLooksApart = 16;

using Calls = bool (*)(std::uint64_t);

class CheckpointFailureTest : public testing::TestWithParam<std::tuple<CheckpointNames, Calls>> {
 protected:
  static Failure At(int step) { return {EIO, step, false, std::get<Calls>(GetParam())}; }
  static const CheckpointNames& Names() { return std::get<CheckpointNames>(GetParam()); }
  static int Apart() {
    const bool changes = std::get<Calls>(GetParam()) == Calls(ChangesFiles);
    return StepsApart(Names(), changes ? kChangesApart : kLooksApart);
  }
};

TEST_P(CheckpointFailureTest, LeavesAWholeCheckpointOrNone) {
  int failed = 0;
  const int apart = Apart();
  for (int step = 1; step < kMostSteps; step += apart) {
    const Checkpointed project(Names());
    const auto before = project.Seen();
    CopyManifest manifest = project.Manifest();
    const Stepped stepped =
        RunFailing([&] { _exit(project.Make("", &manifest) ? 0 : 1); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    const bool is_made = WEXITSTATUS(stepped.status) == 0;
    failed += is_made ? 0 : 1;
    const auto ids = project.Ids();
    ASSERT_EQ(ids.size(), is_made ? 1U : 0U) << step;
    ASSERT_EQ(project.Seen(), before) << step;
    project.ChangeMore();
    for (const std::string& id : ids) {
      ASSERT_FALSE(project.RollBack(id)) << step;
      ASSERT_EQ(project.Seen(), before) << step;
    }
    ASSERT_TRUE(project.Make()) << step;
  }
  EXPECT_GT(failed, 40 / apart);
}

TEST_P(CheckpointFailureTest, LeavesARollbackDoneOrNotBegun) {
  int failed = 0;
  const int apart = Apart();
  for (int step = 1; step < kMostSteps; step += apart) {
    const Checkpointed project(Names());
    const auto first = project.Make("first");
    ASSERT_TRUE(first);
    const auto before = project.Seen();
    project.ChangeMore();
    const auto after = project.Seen();
    const std::string& id = first.value().id;
    const Stepped stepped = RunFailing([&] { _exit(project.RollBack(id) ? 1 : 0); }, At(step));
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    bool is_done = WEXITSTATUS(stepped.status) == 0;
    failed += is_done ? 0 : 1;
    ASSERT_FALSE(is_done && NeedsRollback(project.state())) << step;
    const auto recovered = project.Recover();
    ASSERT_TRUE(recovered) << step << ": " << recovered.error().message;
    is_done = is_done || recovered.value() || project.Seen() == before;
    ASSERT_EQ(project.Seen(), is_done ? before : after) << step;
    ASSERT_EQ(project.Ids().size(), 1U) << step;
    project.ExpectTidy();
    ASSERT_FALSE(project.RollBack(id)) << step;
    ASSERT_EQ(project.Seen(), before) << step;
  }
  EXPECT_GT(failed, 40 / apart);
}

std::string Named(const testing::TestParamInfo<std::tuple<CheckpointNames, Calls>>& given) {
  const bool changes = std::get<Calls>(given.param) == Calls(ChangesFiles);
  return std::string(std::get<CheckpointNames>(given.param).is_copy ? "Copy" : "Overlay") +
         (changes ? "ThatChanges" : "ThatLooks");
}

INSTANTIATE_TEST_SUITE_P(, CheckpointFailureTest,
                         testing::Combine(testing::Values(kOverlayNames, kCopyNames),
                                          testing::Values(ChangesFiles, LooksAtFiles)),
                         Named);

}  // namespace
}  // namespace native_runner
