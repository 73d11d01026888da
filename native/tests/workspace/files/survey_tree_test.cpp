#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/workspace/support/tree.h"
#include "workspace/files/directory_entries.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kMostEntries = 1000;

std::vector<std::string> Words(const Survey& survey) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < survey.text.size();) {
    words.emplace_back(survey.text.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

TEST(SurveyTreeTest, TellsPathsTargetsAndStates) {
  const Tree tree;
  tree.Link("../outside", "link");
  const auto survey = SurveyTree(tree.Root(), kMostEntries);
  ASSERT_TRUE(survey.ok());
  EXPECT_EQ(Words(survey.value()),
            (std::vector<std::string>{".", "file", "inner", "inner/file", "link", "../outside"}));
  const auto& numbers = survey.value().numbers;
  ASSERT_EQ(numbers.size(), 5 * kStateNumbers);
  struct stat seen {};
  ASSERT_EQ(lstat(tree.Path("file").c_str(), &seen), 0);
  const std::uint64_t* file = numbers.data() + kStateNumbers;
  EXPECT_EQ(file[0], seen.st_mode);
  EXPECT_EQ(file[1], seen.st_dev);
  EXPECT_EQ(file[2], seen.st_ino);
  EXPECT_EQ(file[3], static_cast<std::uint64_t>(seen.st_size));
  EXPECT_EQ(file[5] / 1'000'000'000, static_cast<std::uint64_t>(seen.st_ctim.tv_sec));
}

TEST(SurveyTreeTest, AnEditIsAnotherState) {
  const Tree tree;
  const auto before = SurveyTree(tree.Root(), kMostEntries);
  tree.Write("inner/file", "another content");
  const auto after = SurveyTree(tree.Root(), kMostEntries);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before.value().text, after.value().text);
  EXPECT_NE(before.value().numbers, after.value().numbers);
}

TEST(SurveyTreeTest, RefusesWhatItCanNotTell) {
  const Tree tree;
  EXPECT_EQ(OutcomeOf(SurveyTree(tree.Root(), 3)), "");
  EXPECT_EQ(OutcomeOf(SurveyTree(tree.Root(), 2)), "too many");
  tree.Write("inner/\xff", "");
  EXPECT_EQ(OutcomeOf(SurveyTree(tree.Root(), kMostEntries)), "EILSEQ");
}

}  // namespace
}  // namespace native_runner
