#include "workspace/tree/staged_file.h"

#include <gtest/gtest.h>
#include <linux/fs.h>

#include <cerrno>

#include "tests/workspace/support/refusing_filter.h"
#include "tests/workspace/support/tree.h"

namespace native_runner {
namespace {

using Names = std::set<std::string>;

struct Host {
  const char* name;
  RefusedCall refused;
};

// Every way to get a file into its place: with all that the kernel has, and without each part of
// it.
class StagedFileOn : public testing::TestWithParam<Host> {};

TEST_P(StagedFileOn, TheOutcomesAreTheSame) {
  const Tree tree;
  const Names before = tree.Names();
  ASSERT_TRUE(Under(GetParam().refused, [&tree, &before] {
    const Beneath root = tree.Root();
    const auto write = [&root](std::string_view path, std::string_view text,
                               const WriteRule& rule) {
      return WriteFile(root, path, BytesOf(text), rule);
    };
    WriteRule absent;
    absent.condition = WriteRule::If::kAbsent;
    EXPECT_EQ(OutcomeOf(write("file", "x", absent)), "EEXIST");
    EXPECT_EQ(OutcomeOf(write("new", "made", absent)), "");
    EXPECT_EQ(tree.Text("new"), "made");
    EXPECT_EQ(OutcomeOf(write("new", "replaced", {})), "");
    EXPECT_EQ(tree.Text("new"), "replaced");
    const auto written = write("new", "again", {});
    ASSERT_TRUE(written) << OutcomeOf(written);
    WriteRule unchanged;
    unchanged.condition = WriteRule::If::kUnchanged;
    unchanged.version = written.value().version;
    EXPECT_EQ(OutcomeOf(write("new", "by its version", unchanged)), "");
    EXPECT_EQ(tree.Text("new"), "by its version");
    EXPECT_EQ(OutcomeOf(write("new", "too late", unchanged)), "changed");
    EXPECT_EQ(tree.Text("new"), "by its version");
    EXPECT_EQ(OutcomeOf(RemoveEntry(root, "new", false)), "");
    EXPECT_EQ(tree.Names(), before);  // and nothing else is left
  }));
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, StagedFileOn,
    testing::Values(
        Host{"Complete", {.call = SYS_getppid, .number = EPERM}},
        Host{"WithoutNamelessFiles",
             {.call = SYS_openat,
              .number = EOPNOTSUPP,
              .argument = 2,
              .bits = O_TMPFILE & ~O_DIRECTORY}},
        Host{"WithoutExchange",
             {.call = SYS_renameat2, .number = EINVAL, .argument = 4, .bits = RENAME_EXCHANGE}},
        Host{"WithoutHandles", {.call = SYS_name_to_handle_at, .number = EPERM}}),
    [](const auto& host) { return std::string(host.param.name); });

TEST(StagedFileTest, WithoutNamesOrFlagsItIsLinked) {
  const Tree tree;
  const Beneath root = tree.Root();
  ASSERT_TRUE(Under(
      {.call = SYS_openat, .number = EOPNOTSUPP, .argument = 2, .bits = O_TMPFILE & ~O_DIRECTORY},
      [&] {
        ASSERT_TRUE(Install({.call = SYS_renameat2,
                             .number = EINVAL,
                             .argument = 4,
                             .bits = RENAME_NOREPLACE | RENAME_EXCHANGE}));
        auto staged = StagedFile::Make(root.directory(), 0600);
        ASSERT_TRUE(staged);
        EXPECT_EQ(tree.Names().size(), 3U);  // it has a name of its own
        EXPECT_EQ(OutcomeOf(staged->LinkAs("file")), "EEXIST");
        EXPECT_EQ(OutcomeOf(staged->LinkAs("new")), "");
      }));
  EXPECT_EQ(tree.Names(), (Names{"file", "inner", "new"}));
}

TEST(StagedFileTest, WhatIsNotPublishedLeavesNothing) {
  const Tree tree;
  const Beneath root = tree.Root();
  ASSERT_TRUE(Under(
      {.call = SYS_openat, .number = EOPNOTSUPP, .argument = 2, .bits = O_TMPFILE & ~O_DIRECTORY},
      [&] {
        const auto staged = StagedFile::Make(root.directory(), 0600);
        EXPECT_TRUE(staged);
        EXPECT_EQ(tree.Names().size(), 3U);
      }));
  EXPECT_EQ(tree.Names(), (Names{"file", "inner"}));
}

// The state between an exchange and the look at what came out.
TEST(StagedFileTest, AnExchangeIsUndoneByAnother) {
  const Tree tree;
  const Beneath root = tree.Root();
  {
    auto staged = StagedFile::Make(root.directory(), 0600);
    ASSERT_TRUE(staged);
    const auto exchanged = staged->Exchange("file");
    ASSERT_TRUE(exchanged) << OutcomeOf(exchanged);
    EXPECT_EQ(tree.Text("file"), "");
    EXPECT_EQ(tree.Text(exchanged.value()), "inside");
    EXPECT_EQ(OutcomeOf(staged->Exchange("file")), "");
    EXPECT_EQ(tree.Text("file"), "inside");
  }
  EXPECT_EQ(tree.Names(), (Names{"file", "inner"}));
}

}  // namespace
}  // namespace native_runner
