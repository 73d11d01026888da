#include <gtest/gtest.h>

#include "tests/workspace/support/tree.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {
namespace {

// Changes between the look and the exchange, which write_file_test.cpp can't time.
class ReplaceUnchangedTest : public testing::Test {
 protected:
  ReplaceUnchangedTest() : root_(tree_.Root()), version_(Version()) {}

  FileVersion Version() const {
    const auto seen = LookAt(root_.directory(), "file", "open");
    EXPECT_TRUE(seen && seen.value());
    return seen.value()->version;
  }

  StagedFile Staged(std::string_view text) const {
    auto staged = StagedFile::Make(root_.directory(), 0644);
    EXPECT_TRUE(staged) << OutcomeOf(staged);
    EXPECT_EQ(write(staged->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return std::move(*staged);
  }

  void Foreign(std::string_view text) const {
    tree_.Write("foreign", text);
    std::filesystem::rename(tree_.Path("foreign"), tree_.Path("file"));
  }

  std::string Exchange(std::string_view text) const {
    StagedFile staged = Staged(text);
    return OutcomeOf(ExchangeUnchanged(staged, root_.directory(), "file", version_));
  }

  void ExpectOnly(std::string_view text) const {
    EXPECT_EQ(tree_.Text("file"), text);
    EXPECT_EQ(tree_.Names(), (std::set<std::string>{"file", "inner"}));
  }

  Tree tree_;
  Beneath root_;
  FileVersion version_;
};

TEST_F(ReplaceUnchangedTest, WhatIsStillThereIsReplaced) {
  EXPECT_EQ(Exchange("mine"), "");
  ExpectOnly("mine");
}

TEST_F(ReplaceUnchangedTest, AnotherFileIsPutBack) {
  Foreign("inside");
  EXPECT_EQ(Exchange("mine"), "changed");
  ExpectOnly("inside");
}

TEST_F(ReplaceUnchangedTest, OtherContentIsPutBack) {
  tree_.Write("file", "INSIDE, and more");
  EXPECT_EQ(Exchange("mine"), "changed");
  ExpectOnly("INSIDE, and more");
}

TEST_F(ReplaceUnchangedTest, ALinkInItsPlaceIsPutBack) {
  std::filesystem::remove(tree_.Path("file"));
  tree_.Link("../outside/file", "file");
  EXPECT_EQ(Exchange("mine"), "changed");
  EXPECT_TRUE(std::filesystem::is_symlink(tree_.Path("file")));
  EXPECT_EQ(tree_.Secret(), "secret");
  ExpectOnly("secret");
}

TEST_F(ReplaceUnchangedTest, WhatIsGoneStaysGone) {
  std::filesystem::remove(tree_.Path("file"));
  EXPECT_EQ(Exchange("mine"), "changed");
  EXPECT_EQ(tree_.Names(), std::set<std::string>{"inner"});
}

TEST_F(ReplaceUnchangedTest, WhatIsWrittenBeforeItIsPutBackStays) {
  {
    StagedFile staged = Staged("mine");
    ASSERT_TRUE(staged.Exchange("file"));
    Foreign("the latest");
    EXPECT_EQ(OutcomeOf(PutBack(staged, root_.directory(), "file")), "changed");
  }
  ExpectOnly("the latest");
}

}  // namespace
}  // namespace native_runner
