#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workspace/support/tree.h"
#include "workspace/files/directory_entries.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kMost = 100'000;

using Lines = std::vector<std::string>;

// "PATH TYPE" of each, or the outcome.
Lines List(const Tree& tree, std::string_view path, bool recursive, std::uint64_t most = kMost) {
  const auto listed = ListDirectory(tree.Root(), path, {recursive, most});
  if (!listed) return {OutcomeOf(listed)};
  Lines lines;
  for (const ListedEntry& entry : listed.value())
    lines.push_back(entry.path + " " + "fdlo"[static_cast<int>(entry.type)]);
  return lines;
}

TEST(ListDirectoryTest, TellsTypesInOrder) {
  const Tree tree;
  tree.Write("inner.txt", "");
  tree.Link("../outside", "out");
  ASSERT_EQ(mkfifo(tree.Path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(List(tree, "", false), (Lines{"fifo o", "file f", "inner d", "inner.txt f", "out l"}));
  EXPECT_EQ(List(tree, "", true),
            (Lines{"fifo o", "file f", "inner d", "inner/file f", "inner.txt f", "out l"}));
  EXPECT_EQ(List(tree, "inner", true), (Lines{"inner/file f"}));
  EXPECT_EQ(List(tree, "out", true), (Lines{"ELOOP"}));
  EXPECT_EQ(List(tree, "out/inner", true), (Lines{"ELOOP"}));
  EXPECT_EQ(List(tree, "file", false), (Lines{"ENOTDIR"}));
  EXPECT_EQ(List(tree, "none", false), (Lines{"ENOENT"}));
}

TEST(ListDirectoryTest, NamesAreAnyBytes) {
  const Tree tree;
  const Lines names = {"\x01", "\n", " ", "$(id)", "*", "-rf", "\\", "\xc3\x28", "\xff\xfe"};
  for (const std::string& name : names)
    tree.Write("inner/" + name, "");
  Lines expected;
  for (const std::string& name : names)
    expected.push_back("inner/" + name + " f");
  expected.emplace_back("inner/file f");
  std::sort(expected.begin(), expected.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.size() - 2) < b.substr(0, b.size() - 2);
  });
  EXPECT_EQ(List(tree, "inner", false), expected);
  for (const std::string& name : names)
    EXPECT_EQ(Contents(tree.Root(), "inner/" + name), "");
}

TEST(ListDirectoryTest, OneEntryTooManyIsTooMany) {
  const Tree tree;
  for (int i = 0; i < 300; ++i)
    tree.Write("inner/" + std::to_string(i), "");
  EXPECT_EQ(List(tree, "inner", false, 301).size(), 301U);
  EXPECT_EQ(List(tree, "inner", false, 300), (Lines{"too many"}));
  EXPECT_EQ(List(tree, "", true, 303).size(), 303U);
  EXPECT_EQ(List(tree, "", true, 302), (Lines{"too many"}));
  EXPECT_EQ(List(tree, "", false, 2).size(), 2U);
}

// Deeper than descriptors may be open, with something beside each step.
TEST(ListDirectoryTest, GoesAsDeepAsThereAreDirectories) {
  const Tree tree;
  constexpr std::size_t kDepth = 200;
  Descriptor at(open(tree.Path("inner").c_str(), O_PATH | O_CLOEXEC));
  for (std::size_t i = 0; i < kDepth; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0755), 0);
    ASSERT_EQ(mkdirat(at.get(), "e", 0755), 0);
    at = Descriptor(openat(at.get(), "d", O_PATH | O_CLOEXEC));
  }
  const Lines lines = List(tree, "inner", true);
  ASSERT_EQ(lines.size(), 2 * kDepth + 1);
  EXPECT_EQ(lines[kDepth - 1].size(), std::string_view("inner d").size() + 2 * kDepth);
  EXPECT_EQ(lines[kDepth], lines[kDepth - 1].substr(0, lines[kDepth - 1].size() - 3) + "e d");
  EXPECT_EQ(lines.back(), "inner/file f");
}

TEST(ListDirectoryTest, WhatItsPathsTakeIsBounded) {
  const Tree tree;
  const std::string name(255, 'n');
  Descriptor at(open(tree.Path("inner").c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = Descriptor(openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC));
  }
  EXPECT_EQ(List(tree, "inner", true, 61), (Lines{"too many"}));
  EXPECT_EQ(List(tree, "inner", true).size(), 61U);
}

TEST(ListDirectoryTest, WhatCanNotBeReadIsNotLeftOut) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const Tree tree;
  ASSERT_EQ(chmod(tree.Path("inner").c_str(), 0), 0);
  const auto listed = ListDirectory(tree.Root(), "", {true, kMost});
  ASSERT_FALSE(listed);
  EXPECT_EQ(OutcomeOf(listed), "EACCES");
  EXPECT_EQ(listed.error().path, "inner");
  EXPECT_EQ(List(tree, "", false), (Lines{"file f", "inner d"}));
}

}  // namespace
}  // namespace native_runner
