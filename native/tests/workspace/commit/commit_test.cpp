#include "workspace/commit/commit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policy/transaction/journal.h"
#include "tests/workspace/support/changed_project.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/commit_directory.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

std::string Why(const CommitEnd& end) {
  return end.failed ? end.failed->message : "";
}

TEST(CommitTest, MakesTheHostsFilesAsTheTransactionHasThem) {
  const ChangedProject project;
  const CommitEnd end = project.Commit();
  ASSERT_EQ(Why(end), "");
  TreeText host = project.Host();
  EXPECT_EQ(host["a"], "100755 mine a");
  EXPECT_EQ(host.count("b"), 0U);
  EXPECT_EQ(host["dir"], "40700 ");
  EXPECT_EQ(host["dir/x"], "100644 mine x");
  EXPECT_EQ(host["dir/y"], "100644 host dir/y");
  EXPECT_EQ(host["dir/new"], "100644 mine new");
  EXPECT_EQ(host.count("gone"), 0U);
  EXPECT_EQ(host["to-dir/made"], "100644 mine made");
  EXPECT_EQ(host["to-file"], "100644 mine file");
  EXPECT_EQ(host["made/deep"], "40750 ");
  EXPECT_EQ(host["made/deep/file"], "100644 mine deep");
  EXPECT_EQ(host["link"], "120777 dir");
  EXPECT_EQ(host["same"], "100644 host same");
  EXPECT_EQ(project.ChangedPaths().size(), 0U) << "the transaction still has changes";
  EXPECT_TRUE(HasCommit(project.State().get()));
  EXPECT_FALSE(project.Has("commit/plan"));
}

TEST(CommitTest, IsTakenBackToTheFilesThatWere) {
  const ChangedProject project;
  const TreeText before = project.Host();
  const auto changes = project.ChangedPaths();
  struct stat first {};
  ASSERT_EQ(stat(project.overlay().Host("a").c_str(), &first), 0);
  ASSERT_EQ(Why(project.Commit()), "");
  EXPECT_NE(project.Host(), before);
  ASSERT_EQ(Why(project.Undo()), "");
  EXPECT_EQ(project.Host(), before);
  EXPECT_EQ(project.ChangedPaths(), changes);
  struct stat last {};
  ASSERT_EQ(stat(project.overlay().Host("a").c_str(), &last), 0);
  EXPECT_EQ(first.st_ino, last.st_ino);
  EXPECT_NE(Why(project.Undo()), "") << "it is taken back once";
  EXPECT_EQ(Why(project.Commit()), "") << "and may be done again";
}

TEST(CommitTest, OfSomePathsLeavesTheOthers) {
  const ChangedProject project;
  auto before = project.ChangedPaths();
  ASSERT_EQ(Why(project.Commit(PathFilter::Of({"made/deep/file", "gone/one", "a"}).value())), "");
  TreeText host = project.Host();
  EXPECT_EQ(host["a"], "100755 mine a");
  EXPECT_EQ(host.count("gone/one"), 0U);
  EXPECT_EQ(host.count("gone/sub/two"), 1U);
  EXPECT_EQ(host["made/deep/file"], "100644 mine deep");
  EXPECT_EQ(host["dir/x"], "100644 host dir/x");
  for (const char* path : {"a", "gone/one", "made", "made/deep", "made/deep/file"})
    before.erase(path);
  EXPECT_EQ(project.ChangedPaths(), before);
  ASSERT_EQ(Why(project.Commit()), "");
  EXPECT_EQ(project.ChangedPaths().size(), 0U);
}

// Commits of one part after the other have the same result as one commit of all.
TEST(CommitTest, OfEachPathByItselfIsTheSameAsOfAll) {
  const ChangedProject whole;
  ASSERT_EQ(Why(whole.Commit()), "");
  const ChangedProject parts;
  for (int left = 100; left > 0; --left) {
    const auto changes = parts.Changes();
    if (changes.empty()) break;
    // The deepest first: each can be done by itself.
    const std::string path = changes[static_cast<std::size_t>(left) % changes.size()].path;
    ASSERT_EQ(Why(parts.Commit(PathFilter::Of({path}).value())), "") << path;
  }
  EXPECT_EQ(parts.Host(), whole.Host());
}

// Directories that their owner may not change, of the host's and of the transaction's.
TEST(CommitTest, DirectoriesThatAreShutStaySo) {
  const ChangedProject project;
  const Overlay& overlay = project.overlay();
  overlay.Put("shut/in", "host");
  overlay.Put("shut/gone", "host");
  overlay.Put("removed/in", "host");
  overlay.Change("shut/in", "mine");
  overlay.Remove("shut/gone");
  overlay.Change("shut-new/in", "mine");
  overlay.Remove("removed");
  const auto set = [&overlay](mode_t mode) {
    for (const auto& path : {overlay.Host("shut"), overlay.Upper("shut"), overlay.Host("removed"),
                             overlay.Upper("shut-new"), overlay.Host("shut-new")})
      chmod(path.c_str(), mode);
  };
  set(0500);
  const TreeText before = project.Host();
  EXPECT_EQ(Why(project.Commit()), "");
  TreeText host = project.Host();
  EXPECT_EQ(host["shut"], "40500 ");
  EXPECT_EQ(host["shut/in"], "100644 mine");
  EXPECT_EQ(host.count("shut/gone"), 0U);
  EXPECT_EQ(host["shut-new"], "40500 ");
  EXPECT_EQ(host["shut-new/in"], "100644 mine");
  EXPECT_EQ(host.count("removed"), 0U);
  EXPECT_EQ(Why(project.Undo()), "");
  EXPECT_EQ(project.Host(), before);
  set(0700);  // so that the test's directory can be removed
}

// Between an undo and the look after it: what is there then is not what the undo has brought back.
TEST(CommitTest, WhatTheHostChangesJustAfterAnUndoIsSuspect) {
  const ChangedProject project;
  ASSERT_EQ(Why(project.Commit()), "");
  const CommitEnd end = project.Undo();
  ASSERT_EQ(Why(end), "");
  project.overlay().Put("a", "theirs");
  project.overlay().Put("dir/new", "theirs");
  Ledger ledger = project.Look(Overlay::Tick());
  SuspectOthers(end.touched, &ledger);
  for (const auto& [path, baseline] : ledger.baselines)
    EXPECT_EQ(baseline.is_suspect, path == "a" || path == "dir/new") << path;
}

struct HostEdit {
  const char* what;
  const char* path;
  void (*make)(const Overlay&);
};

class UndoConflictTest : public testing::TestWithParam<HostEdit> {};

TEST_P(UndoConflictTest, WhatTheHostHasChangedIsKept) {
  const ChangedProject project;
  ASSERT_EQ(Why(project.Commit()), "");
  Overlay::Tick();
  GetParam().make(project.overlay());
  const TreeText before = project.Host();
  const CommitEnd end = project.Undo();
  EXPECT_NE(Why(end), "");
  EXPECT_EQ(end.conflicts, std::vector<std::string>{GetParam().path});
  EXPECT_EQ(project.Host(), before);
  EXPECT_FALSE(project.Has("commit/plan"));
}

INSTANTIATE_TEST_SUITE_P(
    , UndoConflictTest,
    testing::Values(HostEdit{"in place", "a", [](const Overlay& at) { at.Put("a", "x"); }},
                    HostEdit{"its mode", "dir/x",
                             [](const Overlay& at) { chmod(at.Host("dir/x").c_str(), 0600); }},
                    HostEdit{
                        "removed", "to-file",
                        [](const Overlay& at) { std::filesystem::remove(at.Host("to-file")); }},
                    HostEdit{"made anew", "b", [](const Overlay& at) { at.Put("b", "x"); }},
                    HostEdit{"a file in a new directory", "to-dir",
                             [](const Overlay& at) { at.Put("to-dir/other", "x"); }}),
    [](const auto& given) {
      std::string name = given.param.what;
      for (char& letter : name)
        if (letter == ' ') letter = '_';
      return name;
    });

TEST(CommitTest, IsTheSameWhereTheFileSystemIsAnother) {
  if (!Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system";
  const ChangedProject near;
  const ChangedProject project(true);
  const TreeText before = project.Host();
  const auto changes = project.ChangedPaths();
  ASSERT_EQ(Why(near.Commit()), "");
  ASSERT_EQ(Why(project.Commit()), "");
  EXPECT_EQ(project.Host(), near.Host());
  EXPECT_EQ(project.ChangedPaths().size(), 0U);
  EXPECT_EQ(project.BesideHost(), 1U) << "what the host's files were is beside them";
  ASSERT_EQ(Why(project.Undo()), "");
  EXPECT_EQ(project.Host(), before);
  EXPECT_EQ(project.ChangedPaths(), changes);
  EXPECT_EQ(project.BesideHost(), 0U);
  EXPECT_EQ(Why(project.Commit()), "") << "and may be done again";
}

// The directory `commit` of a transaction, and a workspace on another file system.
class BackupDirectoryTest : public testing::Test {
 protected:
  BackupDirectoryTest() : overlay_(Overlay::CanBeApart()) {
    std::filesystem::create_directory(overlay_.place().Path("state/commit"));
  }

  Descriptor Commit() const { return Overlay::Open(overlay_.place().Path("state/commit")); }
  std::string Beside() const {
    for (const auto& entry : std::filesystem::directory_iterator(overlay_.host_place().path()))
      if (IsBackupPath(entry.path().filename().string())) return entry.path();
    return "";
  }
  void Name(const BackupPlace& place) const {
    ASSERT_EQ(ReplaceFile(Commit().get(), "place", EncodeBackupPlace(place), false), std::nullopt);
  }

  Overlay overlay_;
};

TEST_F(BackupDirectoryTest, IsBesideTheWorkspaceAndGoesWithAllInIt) {
  ASSERT_TRUE(MakeBackupDirectory(Commit().get(), Overlay::Open(overlay_.Host()).get()));
  const std::string beside = Beside();
  ASSERT_NE(beside, "");
  std::ofstream(beside + "/0") << "host";
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt);
  EXPECT_EQ(Beside(), "");
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt) << "once more is nothing";
}

TEST_F(BackupDirectoryTest, ThatSomebodyHasReplacedIsLeftAlone) {
  ASSERT_TRUE(MakeBackupDirectory(Commit().get(), Overlay::Open(overlay_.Host()).get()));
  const std::string beside = Beside();
  std::filesystem::rename(beside, beside + ".away");
  std::filesystem::create_directory(beside);
  std::ofstream(beside + "/theirs") << "theirs";
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(beside + "/theirs"));
  EXPECT_FALSE(OpenBackupDirectory(Commit().get()));
}

TEST_F(BackupDirectoryTest, ThatADeathHasKeptFromBeingNamedWholeGoesIfItIsEmpty) {
  const std::string path = overlay_.host_place().Path(BackupName("0123456789abcdef"));
  Name({path, {}});
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt) << "it had not been made";
  std::filesystem::create_directory(path);
  std::ofstream(path + "/theirs") << "theirs";
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(path + "/theirs"));
  std::filesystem::remove(path + "/theirs");
  EXPECT_EQ(RemoveBackupDirectory(Commit().get()), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace native_runner
