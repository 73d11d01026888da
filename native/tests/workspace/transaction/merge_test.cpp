// What a merge plans, path by path, and does of that.
#include "workspace/transaction/merge.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/supervise/support/temp_directory.h"
#include "tests/workspace/support/stepping.h"
#include "workspace/changes/same_file.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

// Three trees: the host's, ours and theirs, of which each is told to have changed what it is told.
class MergePlanTest : public testing::Test {
 protected:
  MergePlanTest() {
    for (const char* tree : {"host", "ours", "theirs"})
      fs::create_directories(place_.Path(tree));
  }

  void PutAll(const std::string& path, const std::string& text) const {
    for (const char* tree : {"host/", "ours/", "theirs/"})
      place_.Write(tree + path, text);
  }
  ScannedTree Tree(const std::string& name) const {
    return ScannedTree(
        Descriptor(open(place_.Path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), true);
  }
  MergeSide Side(const std::string& name, const std::vector<std::string>& paths) const {
    MergeSide side{name, {}, nullptr, Tree(name)};
    for (const std::string& path : paths) {
      const auto now = SpotOf(side.tree, path);
      const auto before = SpotOf(Tree("host"), path);
      EXPECT_TRUE(now && before);
      side.changes.push_back(ChangeOf(path, {now.value().node, before.value().node}));
    }
    return side;
  }
  MergePlan Plan(const std::vector<std::string>& paths, bool takes_all = false) const {
    const MergeSide ours = Side("ours", paths);
    const MergeSide theirs = Side("theirs", paths);
    auto plan = PlanMergeOf(ours, theirs, MergeBase(), Tree("host"), PathFilter(), takes_all);
    EXPECT_TRUE(plan);
    return plan ? std::move(*plan) : MergePlan();
  }
  std::string Conflict(const std::string& path) const {
    const MergePlan plan = Plan({path});
    if (plan.size() != 1 || plan[0].verdict != MergeStep::Verdict::kConflict) return "";
    return plan[0].reason;
  }

  TempDirectory place_;
};

TEST_F(MergePlanTest, TextsOfBothSidesAreMergedModesApart) {
  PutAll("file", "1\n2\n3\n");
  place_.Write("ours/file", "one\n2\n3\n");
  place_.Write("theirs/file", "1\n2\nthree\n");
  chmod(place_.Path("theirs/file").c_str(), 0755);
  const MergePlan plan = Plan({"file"});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].verdict, MergeStep::Verdict::kMerge);
  EXPECT_EQ(plan[0].mode & 0777U, 0755U);
  EXPECT_EQ(plan[0].base, "1\n2\n3\n");
  EXPECT_EQ(plan[0].ours, "one\n2\n3\n");
  EXPECT_EQ(plan[0].theirs, "1\n2\nthree\n");
}

TEST_F(MergePlanTest, WhatBothHaveMadeTheSameIsNothingToDo) {
  place_.Write("ours/new", "same");
  place_.Write("theirs/new", "same");
  EXPECT_TRUE(Plan({"new"}).empty());
}

TEST_F(MergePlanTest, WhatIsNoMergeIsAConflictWithItsReason) {
  for (const char* path : {"gone-here", "gone-there", "modes", "type", "binary"})
    PutAll(path, "text\n");
  fs::remove(place_.Path("ours/gone-here"));
  place_.Write("theirs/gone-here", "changed");
  EXPECT_EQ(Conflict("gone-here"), "deleted here, changed there");
  place_.Write("ours/gone-there", "changed");
  fs::remove(place_.Path("theirs/gone-there"));
  EXPECT_EQ(Conflict("gone-there"), "changed here, deleted there");
  chmod(place_.Path("ours/modes").c_str(), 0700);
  chmod(place_.Path("theirs/modes").c_str(), 0755);
  EXPECT_EQ(Conflict("modes"), "both have changed its mode or owner");
  place_.Write("ours/type", "changed");
  fs::remove(place_.Path("theirs/type"));
  fs::create_directory(place_.Path("theirs/type"));
  EXPECT_EQ(Conflict("type"), "it is of another type in each");
  place_.Write("ours/binary", std::string("\0here", 5));
  place_.Write("theirs/binary", std::string("\0there", 6));
  EXPECT_EQ(Conflict("binary"), "both have changed it, and it is no text");
  place_.Write("ours/new", "here");
  place_.Write("theirs/new", "there");
  EXPECT_EQ(Conflict("new"), "both have added it, with other contents");
}

TEST_F(MergePlanTest, AFileThatOneSideHasRenamedIsChangedUnderItsNewName) {
  PutAll("old", "1\n2\n");
  fs::rename(place_.Path("ours/old"), place_.Path("ours/new"));
  place_.Write("theirs/old", "1\ntwo\n");
  const MergeSide ours = Side("ours", {"new", "old"});
  const MergeSide theirs = Side("theirs", {"old"});
  const auto plan = PlanMergeOf(ours, theirs, MergeBase(), Tree("host"), PathFilter(), false);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan.value().size(), 1U);
  EXPECT_EQ(plan.value()[0].path, "new");
  EXPECT_EQ(plan.value()[0].theirs, "1\ntwo\n");
}

TEST_F(MergePlanTest, ARenamedFileMayBeEditedAsWellIfHalfOfItIsLeft) {
  const auto plan_of = [this](const std::string& renamed) {
    PutAll("old", "1\n2\n3\n4\n");
    fs::remove(place_.Path("ours/old"));
    place_.Write("ours/new", renamed);
    place_.Write("theirs/old", "one\n2\n3\n4\n");
    const MergeSide ours = Side("ours", {"new", "old"});
    const MergeSide theirs = Side("theirs", {"old"});
    auto plan = PlanMergeOf(ours, theirs, MergeBase(), Tree("host"), PathFilter(), false);
    EXPECT_TRUE(plan);
    return plan ? std::move(plan.value()) : MergePlan();
  };
  const MergePlan plan = plan_of("1\n2\nx\ny\n");
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].path, "new");
  EXPECT_EQ(plan[0].verdict, MergeStep::Verdict::kMerge);
  EXPECT_EQ(plan[0].base, "1\n2\n3\n4\n");
  EXPECT_EQ(plan[0].ours, "1\n2\nx\ny\n");
  EXPECT_EQ(plan[0].theirs, "one\n2\n3\n4\n");
  const MergePlan other = plan_of("1\nx\ny\nz\n");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_STREQ(other[0].reason, "deleted here, changed there");
}

TEST_F(MergePlanTest, AllThatDiffersIsTakenWhereItIsNoMerge) {
  PutAll("file", "text\n");
  place_.Write("ours/file", "ours\n");
  place_.Write("theirs/file", "theirs\n");
  const MergePlan plan = Plan({"file"}, true);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].verdict, MergeStep::Verdict::kTheirs);
}

TEST_F(MergePlanTest, ARequestIsDoneInTheTree) {
  PutAll("gone", "text\n");
  PutAll("merged", "text\n");
  fs::remove(place_.Path("theirs/gone"));
  fs::create_directories(place_.Path("theirs/dir/deep"));
  place_.Write("theirs/dir/deep/file", "theirs\n");
  MergeRequest request;
  request.theirs = {{"dir/deep/file", 0}, {"gone", 0}};
  request.files = {{"merged", 0100755, std::vector<std::uint8_t>{'o', 'k'}}};
  const Descriptor ours(open(place_.Path("ours").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_FALSE(ApplyMerge(request, Tree("theirs"), ours.get()));
  EXPECT_EQ(place_.Read("ours/dir/deep/file"), "theirs\n");
  EXPECT_FALSE(place_.Has("ours/gone"));
  EXPECT_EQ(place_.Read("ours/merged"), "ok");
  struct stat status {};
  ASSERT_EQ(stat(place_.Path("ours/merged").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
}

// Their commands may go on meanwhile.
TEST_F(MergePlanTest, ADirectoryThatTheyRemoveWhileARequestIsDoneIsLeftOut) {
  int left_out = 0;
  int taken = 0;
  for (int step = 1; step < kMostSteps; ++step) {
    for (const char* tree : {"ours", "theirs"}) {
      fs::remove_all(place_.Path(tree));
      fs::create_directories(place_.Path(tree));
    }
    fs::create_directories(place_.Path("theirs/dir/deep"));
    for (const char* name : {"theirs/dir/a", "theirs/dir/deep/b", "theirs/dir/deep/c"})
      place_.Write(name, "theirs\n");
    MergeRequest request;
    request.theirs = {{"dir/a", 0}, {"dir/deep/b", 0}, {"dir/deep/c", 0}};
    const auto apply = [&] {
      const Descriptor ours(open(place_.Path("ours").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      _exit(ApplyMerge(request, Tree("theirs"), ours.get()) ? 1 : 0);
    };
    int seen = 0;
    const auto each_call = [](std::uint64_t) { return true; };
    const Stepped stepped = RunTraced(apply, each_call, [&](pid_t) {
      if (++seen == step) fs::remove_all(place_.Path("theirs/dir"));
    });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (seen < step) break;
    ASSERT_EQ(stepped.status, 0) << step;
    for (const char* name : {"ours/dir/a", "ours/dir/deep/b", "ours/dir/deep/c"}) {
      const bool is_there = place_.Has(name);
      (is_there ? taken : left_out) += 1;
      ASSERT_EQ(is_there ? place_.Read(name) : "theirs\n", "theirs\n") << step << name;
    }
  }
  EXPECT_GT(left_out, 0);
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace native_runner
