#include "policy/git/git_config.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

using Settings = std::vector<GitSetting>;

TEST(ReadGitConfig, GivesKeysInLowerCaseWithoutSubsections) {
  EXPECT_EQ(ReadGitConfig("[core]\n\tbare = false\n[Core] hooksPath=tools\n"
                          "[includeIf \"gitdir:~/a \\\"]b\"]\n path = x\n[include.old]path=y"),
            (Settings{{"core.bare", "false"},
                      {"core.hookspath", "tools"},
                      {"includeif.path", "x"},
                      {"include.path", "y"}}));
}

TEST(ReadGitConfig, ReadsValuesAsGitDoes) {
  EXPECT_EQ(ReadGitConfig("[a]\n"
                          "b =  two words  # a comment\n"
                          "c = \"kept  \" ; another\n"
                          "d = on\\\n  ward\n"
                          "e = a\\tb\\\\c\\\"\n"
                          "f\n"
                          "g = x\"#y\"z\r\n"
                          "h =\n"),
            (Settings{{"a.b", "two words"},
                      {"a.c", "kept  "},
                      {"a.d", "on  ward"},
                      {"a.e", "a\tb\\c\""},
                      {"a.f", ""},
                      {"a.g", "x#yz"},
                      {"a.h", ""}}));
}

TEST(ReadGitConfig, GoesOnAfterWhatGitRefuses) {
  EXPECT_EQ(ReadGitConfig("\xef\xbb\xbf=\n[core\nx = 1\n# [no]\nwhat is this\ny = 2\n[z \"\\"),
            (Settings{{"core.x", "1"}, {"core.y", "2"}}));
  EXPECT_TRUE(ReadGitConfig("").empty());
  EXPECT_TRUE(ReadGitConfig("[").empty());
}

}  // namespace
}  // namespace native_runner
