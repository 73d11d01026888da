// Which edits of the host are conflicts, and when: a look notes baselines, a scan compares.
#include "workspace/commit/baselines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "tests/workspace/support/overlay.h"
#include "workspace/changes/scan.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;
using Paths = std::set<std::string>;

class BaselinesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "dir/x", "dir/y", "gone/one", "gone/sub/two"})
      overlay_.Put(name, "host");
    ASSERT_EQ(chmod(overlay_.Upper().c_str(), 0755), 0);
    ASSERT_EQ(chmod(overlay_.Host().c_str(), 0755), 0);
  }

  // Changes the overlay as a command does.
  void Work() const {
    overlay_.Change("a", "mine");
    overlay_.Remove("b");
    overlay_.Change("dir/x", "mine");
    overlay_.Change("dir/new", "mine");
    overlay_.Change("new", "mine");
    overlay_.Change("made/deep/file", "mine");
    overlay_.Remove("gone");
  }

  void Look(std::uint64_t since) {
    const auto upper = overlay_.UpperTree();
    const auto lower = overlay_.HostTree();
    const std::uint64_t begun = FileClock();
    const auto is_whole = NoteBaselines(upper, lower, since, &ledger_);
    EXPECT_TRUE(is_whole && is_whole.value());
    ledger_.looked_ns = begun;
  }

  Paths Changed(bool only_conflicts) const {
    const auto changes = ScanChanges(overlay_.UpperTree(), overlay_.HostTree(), ledger_);
    EXPECT_TRUE(changes);
    Paths paths;
    if (!changes) return paths;
    for (const Change& change : changes.value())
      if (change.conflict || !only_conflicts) paths.insert(change.path);
    return paths;
  }
  Paths Conflicts() const { return Changed(true); }

  void Put(const char* name, const char* text = "other") const { overlay_.Put(name, text); }
  std::string Host(const char* name) const { return overlay_.Host(name); }

  Overlay overlay_;
  Ledger ledger_;
};

// Contents that can't be read any more must not count as none: after a resume times alone would
// decide.
TEST_F(BaselinesTest, AStoppedLookNotesNoFileWithoutItsContents) {
  const Descriptor writer(open(Host("a").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writer.valid());
  overlay_.Change("a", "mine");
  std::atomic<bool> is_stopped = true;
  {
    const StopScope scope(&is_stopped);
    const auto noted =
        NoteBaselines(overlay_.UpperTree(), overlay_.HostTree(), FileClock(), &ledger_);
    ASSERT_FALSE(noted);
    EXPECT_EQ(noted.error().code, ErrorCode::kClosed);
  }
  EXPECT_EQ(ledger_.baselines.count("a"), 0U);
  Look(FileClock());
  ASSERT_EQ(ledger_.baselines.count("a"), 1U);
  EXPECT_TRUE(ledger_.baselines.at("a").contents);
}

TEST_F(BaselinesTest, WhatKeepsItsOwnerOutStaysSoAndIsLeftForALaterLook) {
  if (geteuid() == 0) GTEST_SKIP() << "no mode keeps root out";
  const std::uint64_t since = Overlay::Tick();
  overlay_.Change("a", "mine");
  overlay_.Change("dir/x", "mine");
  overlay_.Change("dir/y", "mine");
  for (const mode_t mode : {0U, 0100U, 0400U}) {
    ASSERT_EQ(chmod(overlay_.Upper("dir").c_str(), mode), 0);
    const auto upper = overlay_.UpperTree().WhereOpen();
    ASSERT_TRUE(upper);
    const auto is_whole = NoteBaselines(upper.value(), overlay_.HostTree(), since, &ledger_);
    ASSERT_TRUE(is_whole) << is_whole.error().message;
    EXPECT_FALSE(is_whole.value());
    EXPECT_EQ(ledger_.baselines.count("a"), 1U);
    EXPECT_EQ(ledger_.baselines.count("dir/x"), 0U);
    struct stat status {};
    ASSERT_EQ(stat(overlay_.Upper("dir").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, mode);
  }
  Put("dir/x");
  Look(since);
  EXPECT_EQ(Conflicts(), Paths({"dir/x"}));
  ASSERT_EQ(chmod(overlay_.Upper("dir").c_str(), 0755), 0);
}

struct Edit {
  const char* what;
  std::function<void(const Overlay&)> make;
  Paths conflicts;
};

const std::vector<Edit>& Edits() {
  static const std::vector<Edit> edits = {
      {"nothing", [](const Overlay&) {}, {}},
      {"a file that is nobody's", [](const Overlay& at) { at.Put("c", "x"); }, {}},
      {"a file, in place", [](const Overlay& at) { at.Put("a", "x"); }, {"a"}},
      {"a file, with its old size and time",
       [](const Overlay& at) {
         const auto time = fs::last_write_time(at.Host("a"));
         at.Put("a", "HOST");
         fs::last_write_time(at.Host("a"), time);
       },
       {"a"}},
      {"a file's mode", [](const Overlay& at) { chmod(at.Host("a").c_str(), 0600); }, {"a"}},
      {"a file, by renaming over it",
       [](const Overlay& at) {
         at.Put("tmp", "x");
         fs::rename(at.Host("tmp"), at.Host("a"));
       },
       {"a"}},
      {"a file, removed", [](const Overlay& at) { fs::remove(at.Host("a")); }, {"a"}},
      {"a file, moved away",
       [](const Overlay& at) { fs::rename(at.Host("a"), at.Host("z")); },
       {"a"}},
      {"a file that was removed inside", [](const Overlay& at) { at.Put("b", "x"); }, {"b"}},
      {"a new file of the same name", [](const Overlay& at) { at.Put("new", "x"); }, {"new"}},
      {"one of the same name in a directory",
       [](const Overlay& at) { at.Put("dir/new", "x"); },
       {"dir/new"}},
      {"a directory of a new one's name",
       [](const Overlay& at) { fs::create_directory(at.Host("made")); },
       {"made/deep", "made/deep/file"}},
      {"a directory, replaced by a copy of itself",
       [](const Overlay& at) {
         fs::rename(at.Host("dir"), at.Host("old"));
         fs::copy(at.Host("old"), at.Host("dir"), fs::copy_options::recursive);
       },
       {"dir/x", "dir/new"}},
      {"a directory, replaced by a link",
       [](const Overlay& at) {
         fs::rename(at.Host("dir"), at.Host("old"));
         fs::create_directory_symlink("old", at.Host("dir"));
       },
       {"dir", "dir/x", "dir/new"}},
      {"a file deep in what was removed inside",
       [](const Overlay& at) { at.Put("gone/sub/two", "x"); },
       {"gone/sub/two"}},
      {"a new one there",
       [](const Overlay& at) { at.Put("gone/sub/three", "x"); },
       {"gone/sub", "gone/sub/two", "gone/sub/three"}},
      {"another in a directory that is shown",
       [](const Overlay& at) { at.Put("dir/other", "x"); },
       {}},
  };
  return edits;
}

class EditTest : public BaselinesTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(EditTest, AfterTheLookIsAConflict) {
  const Edit& edit = Edits()[GetParam()];
  const std::uint64_t since = Overlay::Tick();
  Work();
  Look(since);
  EXPECT_EQ(Conflicts(), Paths()) << "the control";
  Overlay::Tick();
  edit.make(overlay_);
  EXPECT_EQ(Conflicts(), edit.conflicts) << edit.what;
  Look(Overlay::Tick());  // a path is noted once
  EXPECT_EQ(Conflicts(), edit.conflicts) << edit.what;
}

// Each edit of the host between the command's change and the look must be reported. Further reports
// are no mistake.
TEST_P(EditTest, BeforeTheLookIsAConflictToo) {
  const Edit& edit = Edits()[GetParam()];
  const std::uint64_t since = Overlay::Tick();
  Work();
  edit.make(overlay_);
  Look(since);
  const Paths told = Conflicts();
  const Paths changed = Changed(false);
  for (const std::string& path : edit.conflicts) {
    if (changed.count(path) == 0) continue;
    EXPECT_EQ(told.count(path), 1U) << edit.what << ": " << path;
  }
}

INSTANTIATE_TEST_SUITE_P(, EditTest, testing::Range<std::size_t>(0, 17));

TEST(EditsTest, AreAllTried) {
  EXPECT_EQ(Edits().size(), 17U);
}

TEST_F(BaselinesTest, AnEditBeforeTheCommandIsNone) {
  Put("a");
  Put("dir/x");
  Put("gone/sub/three");
  const std::uint64_t since = Overlay::Tick();
  Work();
  Look(since);
  EXPECT_EQ(Conflicts(), Paths());
}

// `sed -i` twice: the upper file's own times are of the second command.
TEST_F(BaselinesTest, TheFirstChangeCounts) {
  Work();
  Look(Overlay::Tick());
  Overlay::Tick();
  Put("a");
  Overlay::Tick();
  overlay_.Change("tmp", "mine again");
  fs::rename(overlay_.Upper("tmp"), overlay_.Upper("a"));
  Look(Overlay::Tick());
  EXPECT_EQ(Conflicts(), Paths{"a"});
}

// The overlay's copy of a directory does not follow when the host changes its own.
TEST_F(BaselinesTest, AModeThatTheHostSetsIsNoChangeOfTheTransactions) {
  const std::uint64_t since = Overlay::Tick();
  overlay_.Change("dir/x", "mine");
  ASSERT_EQ(chmod(overlay_.Upper("dir").c_str(), 0755), 0);
  ASSERT_EQ(chmod(Host("dir").c_str(), 0755), 0);
  const std::uint64_t later = Overlay::Tick();
  static_cast<void>(since);
  Look(later);
  EXPECT_EQ(Changed(false), Paths{"dir/x"}) << "the control";
  ASSERT_EQ(chmod(Host("dir").c_str(), 0700), 0);
  EXPECT_EQ(Changed(false), Paths{"dir/x"});
}

TEST_F(BaselinesTest, BelowAReplacedDirectoryTheTimeCounts) {
  if (!overlay_.Replace("gone")) GTEST_SKIP() << "no attributes on this file system";
  const std::uint64_t since = Overlay::Tick();
  overlay_.Change("gone/fresh", "mine");
  Look(since);
  EXPECT_EQ(Conflicts(), Paths());
  Overlay::Tick();
  Put("gone/sub/two");
  EXPECT_EQ(Conflicts(), Paths{"gone/sub/two"});
}

// The host removes a file there, and a command that has not seen that makes it anew.
TEST_F(BaselinesTest, BelowAReplacedDirectoryAFileMayTakeThePlaceOfARemovedOne) {
  if (!overlay_.Replace("gone")) GTEST_SKIP() << "no attributes on this file system";
  Look(Overlay::Tick());
  Overlay::Tick();
  overlay_.Change("gone/fresh", "mine");
  Look(Overlay::Tick());
  EXPECT_EQ(Conflicts(), Paths()) << "the control";
  fs::remove(Host("gone/one"));
  const std::uint64_t later = Overlay::Tick();
  overlay_.Change("gone/one", "mine");
  Look(later);
  EXPECT_EQ(Conflicts(), Paths{"gone/one"});
}

}  // namespace
}  // namespace native_runner
