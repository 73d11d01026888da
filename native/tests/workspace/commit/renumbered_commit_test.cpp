// Commits and undos that a death interrupts, whose file systems have other device numbers
// afterwards, as after a boot.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/copied_project.h"
#include "tests/workspace/support/renumbered.h"
#include "tests/workspace/support/stepping.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

constexpr int kApartSteps = 3;  // every step is taken by CommitDeathTest

class RenumberedCommitTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system";
  }

  static std::string StateOf(const ChangedProject& project) {
    return project.overlay().place().Path("state");
  }
};

TEST_P(RenumberedCommitTest, IsTakenBackOrCompletedAfterADeath) {
  TreeText before;
  TreeText after;
  {
    const ChangedProject project(GetParam());
    before = project.Host();
    ASSERT_FALSE(project.Commit().failed);
    after = project.Host();
  }
  int half_done = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(kApartSteps)) {
    const ChangedProject project(GetParam());
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Commit().failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const TreeText left = project.Host();
    const bool is_half_done = left != before && left != after;
    const int renumbered = Renumbered(StateOf(project)).Commit();
    if (is_half_done) {
      ++half_done;
      ASSERT_GT(renumbered, 0) << step;
    }
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after : before) << step;
    if (!is_done) continue;
    Renumbered(StateOf(project)).Commit();
    ASSERT_FALSE(project.Undo().failed) << step;
    ASSERT_EQ(project.Host(), before) << step;
    ASSERT_EQ(project.BesideHost(), 0U) << step;
  }
  EXPECT_GT(half_done, 0);
}

// The positive control: numbers that nobody can tell apart are not taken for the same files.
TEST_P(RenumberedCommitTest, IsNotUndoneOnAnotherFileSystem) {
  const ChangedProject project(GetParam());
  ASSERT_FALSE(project.Commit().failed);
  const TreeText after = project.Host();
  ASSERT_GT(Renumbered(StateOf(project), true).Commit(), 0);
  EXPECT_TRUE(project.Undo().failed);
  EXPECT_EQ(project.Host(), after);
}

INSTANTIATE_TEST_SUITE_P(OnOneFileSystemAndOnTwo, RenumberedCommitTest, testing::Bool());

TEST(RenumberedLists, TellTheFilesOfNow) {
  CopiedProject project;
  FileSystemList now;
  AddFileSystem(kWorkspaceRole, project.HostTop().get(), &now);
  AddFileSystem(kStateRole, project.State().get(), &now);
  ASSERT_EQ(now.size(), 2U);
  const TempDirectory& place = project.overlay().place();
  const auto read = [&](bool is_other) {
    place.Write("state/copies", WithFileSystems(now, EncodeManifest(project.copied().manifest)));
    place.Write("state/ledger", WithFileSystems(now, EncodeLedger(project.copied().ledger)));
    const Renumbered renumbered(place.Path("state"), is_other);
    EXPECT_TRUE(renumbered.Manifest("copies") && renumbered.LedgerAt("ledger"));
    const auto manifest = DecodeRenumbered(place.Read("state/copies"), now, DecodeManifest);
    const auto ledger = DecodeRenumbered(place.Read("state/ledger"), now, DecodeLedger);
    EXPECT_TRUE(manifest && ledger);
    return manifest.value().copies == project.copied().manifest.copies &&
           EncodeLedger(ledger.value()) == EncodeLedger(project.copied().ledger);
  };
  EXPECT_TRUE(read(false));
  EXPECT_FALSE(read(true));
}

}  // namespace
}  // namespace native_runner
