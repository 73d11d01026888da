// A commit, and an undo, whose process dies before each of its system calls that change something,
// and ones in which the host does something at each of these moments.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>
#include <fstream>

#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/stepping.h"
#include "workspace/commit/baselines.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

// On one file system, or on two, where the commit first copies files beside the workspace.
class CommitDeathTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system";
    const ChangedProject project(GetParam());
    before_ = project.Host();
    changes_ = project.ChangedPaths();
    ASSERT_FALSE(project.Commit().failed);
    after_ = project.Host();
    ASSERT_NE(before_, after_);
  }

  static void Commit(const ChangedProject& project) {
    if (project.Commit().failed) _exit(1);
  }

  TreeText before_;
  TreeText after_;
  std::map<std::string, std::string> changes_;
};

TEST_P(CommitDeathTest, LeavesTheWorkspaceAsItWasOrAsItIsToBe) {
  int rolled_back = 0;
  int completed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(GetParam());
    const Stepped stepped = RunToStep([&] { Commit(project); }, step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const TreeText left = project.Host();
    const Recovered foreseen = ForeseeRecovery(project.State().get());
    ASSERT_EQ(project.Host(), left) << step << ": looking has changed something";
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_EQ(recovery.value().recovered, foreseen) << step;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step;
    rolled_back += recovery.value().recovered == Recovered::kRolledBack ? 1 : 0;
    completed += recovery.value().recovered == Recovered::kCompleted ? 1 : 0;
    ASSERT_TRUE(is_done || project.BesideHost() == 0) << step;
    if (is_done) {
      ASSERT_EQ(project.ChangedPaths().size(), 0U) << step;
      ASSERT_FALSE(project.Undo().failed) << step;
      ASSERT_EQ(project.Host(), before_) << step;
      ASSERT_EQ(project.BesideHost(), 0U) << step;
    }
    ASSERT_EQ(project.ChangedPaths(), changes_) << step;
    ASSERT_FALSE(project.Commit().failed) << step;
    ASSERT_EQ(project.Host(), after_) << step;
  }
  EXPECT_GT(rolled_back, 20 / StepsApart(1));
  EXPECT_TRUE(completed > 0 || StepsApart(1) > 1);
}

// Changes that the commit itself made before it died do not count as the host's.
TEST_P(CommitDeathTest, IsNoConflictOnceItWasTakenBack) {
  int rolled_back = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(GetParam());
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Commit(PathFilter(), project.ledger()).failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    Ledger ledger = project.ledger();
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    if (recovery.value().recovered != Recovered::kRolledBack) continue;
    ++rolled_back;
    const Overlay& at = project.overlay();
    FollowTakenBack(at.HostTree(), recovery.value().touched, &ledger);
    const auto changes = ScanChanges(at.UpperTree(), at.HostTree(), ledger);
    ASSERT_TRUE(changes) << step << ": " << changes.error().message;
    for (const Change& change : changes.value())
      ASSERT_FALSE(change.conflict) << step << ": " << change.path;
  }
  EXPECT_GT(rolled_back, 20 / StepsApart(1));
}

TEST_P(CommitDeathTest, OfAnUndoLeavesItDoneOrNot) {
  const std::map<std::string, std::string> none;
  int rolled_back = 0;
  int completed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(GetParam());
    ASSERT_FALSE(project.Commit().failed);
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Undo().failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const TreeText left = project.Host();
    const Recovered foreseen = ForeseeRecovery(project.State().get());
    ASSERT_EQ(project.Host(), left) << step << ": looking has changed something";
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_EQ(recovery.value().recovered, foreseen) << step;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step;
    ASSERT_EQ(project.ChangedPaths(), is_done ? none : changes_) << step;
    if (is_done) {
      const CommitEnd again = project.Undo();
      ASSERT_FALSE(again.failed) << step << ": " << again.failed->message;
      ASSERT_EQ(project.Host(), before_) << step;
    }
    rolled_back += recovery.value().recovered == Recovered::kRolledBack ? 1 : 0;
    completed += recovery.value().recovered == Recovered::kCompleted ? 1 : 0;
  }
  EXPECT_GT(rolled_back, 20 / StepsApart(1));
  EXPECT_TRUE(completed > 0 || StepsApart(1) > 1);
}

// What commands see: the host's directory, and over it the upper one.
TreeText Seen(const ChangedProject& project) {
  TreeText seen = project.Host();
  const Overlay& at = project.overlay();
  for (const auto& [path, text] : TextOfTree(at.Upper())) {
    struct stat status {};
    EXPECT_EQ(lstat(at.Upper(path).c_str(), &status), 0) << path;
    char mark = 'n';
    const bool is_opaque =
        lgetxattr(at.Upper(path).c_str(), "user.overlay.opaque", &mark, 1) == 1 && mark == 'y';
    const bool was_directory = fs::is_directory(fs::symlink_status(at.Host(path)));
    if (!S_ISDIR(status.st_mode) || is_opaque || !was_directory) {
      std::erase_if(seen, [&above = path](const auto& each) {
        return each.first == above || each.first.starts_with(above + "/");
      });
    }
    if (!S_ISCHR(status.st_mode)) seen[path] = text;
  }
  return seen;
}

// Commands that go on where something was committed.
void WorkOn(const Overlay& at) {
  at.Change("a", "later a");
  at.Change("b", "later b");
  at.Remove("dir/new");
  at.Change("gone/one", "later one");
  fs::remove_all(at.Upper("made"));  // the upper directory keeps directories that were committed
  at.Remove("made");
  at.Change("to-dir/made", "later made");
  at.Remove("to-file");
}

// The changes that are newer than the commit stay, whenever the host dies.
TEST_P(CommitDeathTest, OfAnUndoUnderLaterChangesLeavesItDoneOrNot) {
  int rolled_back = 0;
  int undone = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(GetParam());
    ASSERT_FALSE(project.Commit().failed);
    WorkOn(project.overlay());
    const TreeText seen = Seen(project);
    ASSERT_NE(seen.at("a").find("later"), std::string::npos);
    ASSERT_EQ(seen.count("made/deep/file"), 0U);
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Undo().failed) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) {
      ASSERT_EQ(project.Host(), before_);
      ASSERT_EQ(Seen(project), seen);
      break;
    }
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step;
    ASSERT_EQ(Seen(project), seen) << step;
    rolled_back += recovery.value().recovered == Recovered::kRolledBack ? 1 : 0;
    if (!is_done) continue;
    const CommitEnd again = project.Undo();
    ASSERT_FALSE(again.failed) << step << ": " << again.failed->message;
    ASSERT_EQ(project.Host(), before_) << step;
    ASSERT_EQ(Seen(project), seen) << step;
    ++undone;
  }
  EXPECT_GT(rolled_back, 10 / StepsApart(1));
  EXPECT_GT(undone, 0);
}

// A file that is renamed forth and back counts as unchanged by the host.
TEST_P(CommitDeathTest, OfTheRecoveryOfAnUndoLeavesOneThatCanBeDone) {
  int undone = 0;
  for (int step = 2; step < kMostSteps; step += StepsApart(5)) {
    for (int second = 1; second < kMostSteps; second += StepsApart(5)) {
      const ChangedProject project(GetParam());
      ASSERT_FALSE(project.Commit().failed);
      const Stepped stepped = RunToStep([&] { static_cast<void>(project.Undo()); }, step, Kill);
      if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
      if (!stepped.was_reached) {
        EXPECT_GE(undone, 10 / StepsApart(1));
        return;
      }
      const Stepped again = RunToStep([&] { static_cast<void>(project.Recover()); }, second, Kill);
      ASSERT_TRUE(project.Recover()) << step << ", " << second;
      if (!HasCommit(project.State().get())) break;
      const CommitEnd end = project.Undo();
      ASSERT_FALSE(end.failed) << step << ", " << second << ": " << end.failed->message;
      ASSERT_EQ(project.Host(), before_) << step << ", " << second;
      ++undone;
      if (!again.was_reached) break;
    }
  }
}

TEST_P(CommitDeathTest, OfARecoveryIsRecoveredFrom) {
  for (int step = 1; step < kMostSteps; step += StepsApart(3)) {
    for (int second = 1; second < kMostSteps; second += StepsApart(5)) {
      const ChangedProject project(GetParam());
      const Stepped stepped = RunToStep([&] { Commit(project); }, step, Kill);
      if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
      if (!stepped.was_reached) return;
      const Stepped again = RunToStep([&] { static_cast<void>(project.Recover()); }, second, Kill);
      const auto recovery = project.Recover();
      ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
      const bool is_done = HasCommit(project.State().get());
      ASSERT_EQ(project.Host(), is_done ? after_ : before_) << step << ", " << second;
      if (!again.was_reached) break;
    }
  }
}

GivenContents Parts() {
  const auto bytes = [](const std::string& text) {
    return std::vector<std::uint8_t>(text.begin(), text.end());
  };
  return {{"a", bytes("part of a")}, {"dir/new", bytes("part of new")}, {"dir/x", bytes("")}};
}

void CommitParts(const ChangedProject& project) {
  const Ledger ledger = project.Look(Overlay::Tick());
  if (project.Commit(PathFilter(), ledger, Parts()).failed) _exit(1);
}

// If a part of a file is committed, only the transaction has the whole file.
TEST_P(CommitDeathTest, OfPartsLeavesTheTransactionItsOwn) {
  TreeText parts = after_;
  parts["a"] = "100755 part of a";
  parts["dir/new"] = "100644 part of new";
  parts["dir/x"] = "100644 ";
  std::map<std::string, std::string> left;
  for (const char* path : {"a", "dir/new", "dir/x"})
    left[path] = changes_[path];
  int completed = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(GetParam());
    const Stepped stepped = RunToStep([&] { CommitParts(project); }, step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    const auto recovery = project.Recover();
    ASSERT_TRUE(recovery) << step << ": " << recovery.error().message;
    ASSERT_NE(recovery.value().recovered, Recovered::kTorn) << step;
    const bool is_done = HasCommit(project.State().get());
    ASSERT_EQ(project.Host(), is_done ? parts : before_) << step;
    ASSERT_EQ(project.ChangedPaths(), is_done ? left : changes_) << step;
    if (is_done) {
      ++completed;
      ASSERT_FALSE(project.Undo().failed) << step;
      ASSERT_EQ(project.Host(), before_) << step;
      ASSERT_EQ(project.ChangedPaths(), changes_) << step;
      ASSERT_EQ(project.BesideHost(), 0U) << step;
    }
    ASSERT_FALSE(project.Commit().failed) << step;
    ASSERT_EQ(project.Host(), after_) << step;
    if (!stepped.was_reached) break;
  }
  EXPECT_GT(completed, 0);
}

INSTANTIATE_TEST_SUITE_P(, CommitDeathTest, testing::Bool(), [](const auto& given) {
  return std::string(given.param ? "OnTwoFileSystems" : "OnOneFileSystem");
});

// Commits with the ledger of before the host's changes.
void CommitByLedger(const ChangedProject& project) {
  if (project.Commit(PathFilter(), project.ledger()).failed) _exit(1);
}

struct Edit {
  const char* what;
  const char* path;  // at which `text` must be in the end
  const char* text;
  void (*make)(const Overlay&);
};

std::string Contents(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class CommitRaceTest : public testing::TestWithParam<std::tuple<Edit, bool>> {};

// Whatever the moment: what the host has written is the host's, where it has written it.
TEST_P(CommitRaceTest, NothingOfTheHostsIsLost) {
  const auto& [edit, is_apart] = GetParam();
  if (is_apart && !Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system";
  int failed = 0;
  int done = 0;
  // The renames are the same: what comes before them is what is copied.
  const int stride = is_apart ? 3 : 1;
  for (int step = 1; step < kMostSteps; step += StepsApart(stride)) {
    const ChangedProject project(is_apart);
    const TreeText before = project.Host();
    const Overlay& at = project.overlay();
    const Stepped stepped = RunToStep([&] { CommitByLedger(project); }, step,
                                      [&, make = edit.make](pid_t) { make(at); });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    const bool has_failed = WEXITSTATUS(stepped.status) != 0;
    (has_failed ? failed : done) += 1;
    const std::string now = Contents(at.Host(edit.path));
    ASSERT_NE(now.find(edit.text), std::string::npos) << edit.what << ", step " << step;
    if (has_failed && !project.Has("commit/torn") && !project.Has("commit/plan")) {
      // All else is as it was.
      TreeText host = project.Host();
      for (const auto& [path, text] : before) {
        if (path == edit.path) continue;
        ASSERT_EQ(host[path], text) << edit.what << ", step " << step;
      }
    }
    if (has_failed) continue;
    // An undo does not mistake it for the commit's own file.
    static_cast<void>(project.Undo());
    const std::string then = Contents(at.Host(edit.path));
    ASSERT_NE(then.find(edit.text), std::string::npos) << edit.what << ", undo after step " << step;
  }
  EXPECT_GT(failed, 0);
}

// The caller learns that the commit is torn: a conflict would say that nothing has changed.
TEST(CommitTornTest, IsToldIfADirectoryWasMovedAway) {
  int torn = 0;
  int whole = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project;
    const auto commit = [&] {
      const CommitEnd end = project.Commit(PathFilter(), project.ledger());
      const bool is_told = end.is_torn && end.failed && !end.failed->fix.empty() &&
                           end.failed->message.find("dir") != std::string::npos;
      _exit(is_told ? 2 : end.failed ? 1 : 0);
    };
    const Overlay& at = project.overlay();
    const Stepped stepped =
        RunToStep(commit, step, [&](pid_t) { fs::rename(at.Host("dir"), at.Host("moved")); });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    const bool is_torn = project.Has("commit/torn");
    ASSERT_EQ(WEXITSTATUS(stepped.status) == 2, is_torn) << step;
    (is_torn ? torn : whole) += 1;
  }
  EXPECT_TRUE(torn > 0 || StepsApart(1) > 1);
  EXPECT_GT(whole, 0);
}

void Replace(const Overlay& at, const char* name) {
  at.Put("tmp~", "edited");
  fs::rename(at.Host("tmp~"), at.Host(name));
}

const auto kEdits = testing::Values(
    Edit{"replaces a file that was changed", "a", "edited",
         [](const Overlay& at) { Replace(at, "a"); }},
    Edit{"appends to a file that was changed", "a", "edited",
         [](const Overlay& at) { std::ofstream(at.Host("a"), std::ios::app) << "edited"; }},
    Edit{"replaces a file that was removed", "b", "edited",
         [](const Overlay& at) { Replace(at, "b"); }},
    Edit{"makes a file that was made", "dir/new", "edited",
         [](const Overlay& at) { Replace(at, "dir/new"); }},
    Edit{"makes a file in a directory that was removed", "gone/other", "edited",
         [](const Overlay& at) {
           std::error_code ignored;
           fs::create_directories(at.Host("gone"), ignored);
           std::ofstream(at.Host("gone/other")) << "edited";
         }});

INSTANTIATE_TEST_SUITE_P(, CommitRaceTest, testing::Combine(kEdits, testing::Bool()),
                         [](const auto& given) {
                           std::string name = std::get<0>(given.param).what;
                           for (char& letter : name)
                             if (letter == ' ') letter = '_';
                           return name + (std::get<1>(given.param) ? "_apart" : "");
                         });

}  // namespace
}  // namespace native_runner
