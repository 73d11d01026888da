// Files that were to be hidden or mounted read-only, and are not: the command never starts.

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

std::string IdentityRule(char kind, const char* of, const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(of, &status), 0) << of;
  return kind + std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" + path;
}

RunResult Checking(const std::vector<std::string>& rules, Mode mode = Mode::kSubreaper) {
  OrderSpec spec{.argv = {"/bin/echo", "ran"}, .rules = rules};
  spec.header.flags = kOrderCheckFiles;
  return RunCommand(mode, spec);
}

void ExpectRefused(const std::string& rule, const std::string& text) {
  const RunResult result = Checking({rule});
  ASSERT_EQ(result.reports.size(), 1u) << rule;
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(result.last().text), text);
  EXPECT_EQ(result.out, "");
}

TEST(FilesTest, TheHostsOwnIsNotHidden) {
  ExpectRefused(IdentityRule(kRuleHidden, "/usr", "/usr"), "hidden-files: /usr is the host's own");
}

TEST(FilesTest, AnotherFileOrNoneIsHidden) {
  EXPECT_EQ(Checking({IdentityRule(kRuleHidden, "/etc", "/usr"),
                      IdentityRule(kRuleHidden, "/usr", "/not/there"),
                      IdentityRule(kRuleHidden, "/usr", "/etc/passwd/below-a-file")})
                .out,
            "ran\n");
}

TEST(FilesTest, WhatIsShownMustBeTheHostsOwn) {
  EXPECT_EQ(Checking({IdentityRule(kRuleShown, "/usr", "/usr")}).out, "ran\n");
  ExpectRefused(IdentityRule(kRuleShown, "/etc", "/usr"),
                "the workspace is not there: /usr is another directory");
  ExpectRefused(IdentityRule(kRuleShown, "/usr", "/not/there"),
                "the workspace is not there: /not/there: No such file or directory");
}

TEST(FilesTest, WhatCanBeWrittenIsNotReadOnly) {
  struct statvfs status {};
  ASSERT_EQ(statvfs("/dev/shm", &status), 0);
  if ((status.f_flag & ST_RDONLY) != 0) GTEST_SKIP() << "/dev/shm is read-only on this host";
  ExpectRefused("o/dev/shm", "read-only-root: /dev/shm is not mounted read-only");
  ExpectRefused("o/not/there", "read-only-root: /not/there: No such file or directory");
}

TEST(FilesTest, ADeviceMustBeTheHostsNode) {
  EXPECT_EQ(Checking({IdentityRule(kRuleNode, "/dev/null", "/dev/null")}).out, "ran\n");
  ExpectRefused(IdentityRule(kRuleNode, "/dev/zero", "/dev/null"),
                "devices: /dev/null is not the host's node");
  ExpectRefused(IdentityRule(kRuleNode, "/usr", "/usr"), "devices: /usr is not the host's node");
  ExpectRefused(IdentityRule(kRuleNode, "/dev/null", "/dev/none"),
                "devices: /dev/none: No such file or directory");
}

TEST(FilesTest, ADeviceThatCommandsCouldChangeIsRefused) {
  struct statvfs status {};
  ASSERT_EQ(statvfs("/dev/full", &status), 0);
  if ((status.f_flag & ST_RDONLY) != 0) GTEST_SKIP() << "/dev is read-only on this host";
  ExpectRefused(IdentityRule(kRuleKeptNode, "/dev/full", "/dev/full"),
                "devices: /dev/full is not mounted read-only, so commands could change its mode");
}

TEST(FilesTest, TheRulesOfLandlockAreNotChecked) {
  OrderSpec spec{.argv = {"/bin/echo", "ran"},
                 .rules = {"r/", IdentityRule(kRuleNode, "/dev/null", "/dev/null"), "d/dev"}};
  spec.header.flags = kOrderCheckFiles | kOrderLandlock | kOrderNoNewPrivs;
  const RunResult result = RunCommand(Mode::kSubreaper, spec);
  if (result.out.empty() && std::string(result.last().text).find("landlock") != std::string::npos) {
    GTEST_SKIP() << result.last().text;
  }
  EXPECT_EQ(result.out, "ran\n") << result.last().text;
}

TEST(FilesTest, InASandboxThatHidesThemTheyPass) {
  if (!BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  const RunResult result = Checking({IdentityRule(kRuleHidden, "/dev", "/dev"),
                                     IdentityRule(kRuleShown, "/usr", "/usr"), "o/usr"},
                                    Mode::kInit);
  EXPECT_EQ(result.out, "ran\n") << result.last().text;
}

TEST(FilesTest, TheFirstRuleThatDoesNotHoldIsNamed) {
  const RunResult result = Checking({IdentityRule(kRuleHidden, "/etc", "/usr"),
                                     IdentityRule(kRuleHidden, "/etc", "/etc"), "o/not/there"});
  EXPECT_STREQ(result.last().text, "hidden-files: /etc is the host's own");
}

TEST(FilesTest, ARuleThatIsNotUnderstoodIsRefused) {
  ExpectRefused("h/usr", "the order has a rule without a file");
  ExpectRefused("r/usr", "the order has a rule that can't be checked");
  ExpectRefused("", "the order has a rule that can't be checked");
}

}  // namespace
}  // namespace native_runner
