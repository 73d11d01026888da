#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "policy/git/patch.h"

namespace native_runner {
namespace {

// Applies the changes to `before`.
std::string Applied(const std::string& before, const std::string& after) {
  const auto old_lines = SplitLines(before);
  const auto new_lines = SplitLines(after);
  std::string made;
  std::size_t at = 0;
  for (const LineChange& change : DiffLines(old_lines, new_lines)) {
    EXPECT_LE(at, change.old_begin);
    EXPECT_TRUE(change.old_begin < change.old_end || change.new_begin < change.new_end);
    for (; at < change.old_begin; ++at)
      made += old_lines[at];
    for (std::size_t line = change.new_begin; line < change.new_end; ++line)
      made += new_lines[line];
    at = change.old_end;
  }
  for (; at < old_lines.size(); ++at)
    made += old_lines[at];
  return made;
}

std::size_t Differences(const std::string& before, const std::string& after) {
  std::size_t lines = 0;
  for (const LineChange& change : DiffLines(SplitLines(before), SplitLines(after)))
    lines += change.old_end - change.old_begin + change.new_end - change.new_begin;
  return lines;
}

TEST(LineDiff, LinesKeepTheirNewlines) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(SplitLines(""), Lines{});
  EXPECT_EQ(SplitLines("\n"), Lines{"\n"});
  EXPECT_EQ(SplitLines("a\n\nb"), (Lines{"a\n", "\n", "b"}));
}

TEST(LineDiff, SmallTextsHaveTheShortestOne) {
  const struct {
    const char* before;
    const char* after;
    std::size_t differences;
  } rows[] = {
      {"", "", 0},
      {"a\n", "a\n", 0},
      {"", "a\nb\n", 2},
      {"a\nb\n", "", 2},
      {"a\nb\nc\n", "a\nc\n", 1},
      {"a\nc\n", "a\nb\nc\n", 1},
      {"a\nb\nc\n", "a\nx\nc\n", 2},
      {"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5},
      {"a\na\na\n", "a\na\n", 1},
      {"a\n", "a", 2},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Applied(row.before, row.after), row.after) << row.before << "->" << row.after;
    EXPECT_EQ(Differences(row.before, row.after), row.differences)
        << row.before << "->" << row.after;
  }
}

TEST(LineDiff, AnyTextsAreMadeOfEachOther) {
  std::uint32_t state = 1;
  const auto next = [&state](std::uint32_t below) {
    state = state * 1'103'515'245U + 12'345U;
    return (state >> 16U) % below;
  };
  const auto text = [&next](std::uint32_t kinds) {
    std::string made;
    for (std::uint32_t left = next(30); left > 0; --left)
      made += static_cast<char>('a' + next(kinds)) + std::string("\n");
    return made;
  };
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t kinds = 1 + next(20);
    const std::string before = text(kinds);
    const std::string after = text(kinds);
    ASSERT_EQ(Applied(before, after), after) << before << "->" << after;
  }
}

// More than is looked at closely, and nothing that both have once.
TEST(LineDiff, LargeTextsThatDifferInAllAreReplaced) {
  std::string before;
  std::string after;
  for (int line = 0; line < 20'000; ++line) {
    before += line % 2 == 0 ? "a\n" : "b\n";
    after += line % 3 == 0 ? "b\n" : "c\n";
  }
  EXPECT_EQ(Applied(before, after), after);
}

}  // namespace
}  // namespace native_runner
