#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/workspace/support/overlay.h"
#include "workspace/changes/same_file.h"

namespace native_runner {
namespace {

Change Of(std::string path, Change::Kind kind, std::uint64_t size) {
  Change change;
  change.path = std::move(path);
  change.kind = kind;
  const bool is_gone = kind == Change::Kind::kDeleted;
  (is_gone ? change.previous_size : change.size) = size;
  (is_gone ? change.previous_mode : change.mode) = S_IFREG | 0644U;
  return change;
}

class PairRenamesTest : public testing::Test {
 protected:
  void Gone(const std::string& path, const std::string& text) {
    overlay_.Put(path, text);
    changes_.push_back(Of(path, Change::Kind::kDeleted, text.size()));
  }
  void Made(const std::string& path, const std::string& text) {
    overlay_.Change(path, text);
    changes_.push_back(Of(path, Change::Kind::kAdded, text.size()));
  }

  // "PATH", "-PATH", "+PATH", "FROM>PATH"; with "!" where it is a conflict.
  std::vector<std::string> Reported() {
    PairRenames(overlay_.UpperTree(), overlay_.HostTree(), &changes_);
    std::vector<std::string> told;
    for (const Change& change : changes_) {
      const char* const mark = change.kind == Change::Kind::kAdded     ? "+"
                               : change.kind == Change::Kind::kDeleted ? "-"
                                                                       : "";
      const std::string from = change.kind == Change::Kind::kRenamed ? change.from + ">" : "";
      told.push_back(mark + from + change.path + (change.conflict ? "!" : ""));
    }
    return told;
  }

  using Texts = std::vector<std::string>;

  Overlay overlay_;
  std::vector<Change> changes_;
};

TEST_F(PairRenamesTest, MakesOneChangeOfTwo) {
  Gone("a", "text");
  Made("b", "text");
  EXPECT_EQ(Reported(), (Texts{"a>b"}));
  EXPECT_EQ(changes_[0].previous_size, 4U);
  EXPECT_EQ(changes_[0].previous_mode, S_IFREG | 0644U);
  EXPECT_EQ(changes_[0].size, 4U);
}

TEST_F(PairRenamesTest, LeavesWhatIsNotTheSame) {
  Gone("a", "text");
  Gone("b", "texts");
  Made("c", "test");
  Made("d", "texts and more");
  EXPECT_EQ(Reported(), (Texts{"-a", "-b", "+c", "+d"}));
}

TEST_F(PairRenamesTest, LeavesEmptyFilesAndWhatIsNone) {
  Gone("a", "");
  Made("b", "");
  changes_.push_back(Of("c", Change::Kind::kDeleted, 4));
  changes_.back().previous_mode = S_IFLNK | 0777U;
  changes_.push_back(Of("d", Change::Kind::kAdded, 4));
  changes_.back().mode = S_IFLNK | 0777U;
  EXPECT_EQ(Reported(), (Texts{"-a", "+b", "-c", "+d"}));
}

TEST_F(PairRenamesTest, UsesEachOnce) {
  Gone("a", "text");
  Made("b", "text");
  Made("c", "text");
  Gone("d", "text");
  Gone("e", "text");
  EXPECT_EQ(Reported(), (Texts{"a>b", "d>c", "-e"}));
}

TEST_F(PairRenamesTest, TakesTheSameNameFirst) {
  Gone("a/x", "text");
  Gone("b/y", "text");
  Made("c/y", "text");
  Made("d/x", "text");
  EXPECT_EQ(Reported(), (Texts{"b/y>c/y", "a/x>d/x"}));
}

TEST_F(PairRenamesTest, IsAConflictWhereEitherSideIs) {
  Gone("a", "one");
  changes_.back().conflict = true;
  Made("b", "one");
  Gone("c", "three");
  Made("d", "three");
  changes_.back().conflict = true;
  EXPECT_EQ(Reported(), (Texts{"a>b!", "c>d!"}));
}

TEST_F(PairRenamesTest, LeavesWhatIsNotThereAnyMore) {
  Gone("a", "text");
  Made("b", "text");
  Gone("c", "other");
  Made("d", "other");
  std::filesystem::remove(overlay_.Host("a"));
  std::filesystem::remove(overlay_.Upper("d"));
  EXPECT_EQ(Reported(), (Texts{"-a", "+b", "-c", "+d"}));
}

// Many files may be the same, as the licences of packages are.
TEST_F(PairRenamesTest, PairsManyThatAreTheSame) {
  constexpr int kMany = 2'000;
  for (int at = 0; at < kMany; ++at)
    Gone("old/" + std::to_string(at) + "/LICENSE", "the same");
  for (int at = 0; at < kMany; ++at)
    Made("made/" + std::to_string(at) + "/LICENSE", "the same");
  EXPECT_EQ(Reported().size(), static_cast<std::size_t>(kMany));
}

}  // namespace
}  // namespace native_runner
