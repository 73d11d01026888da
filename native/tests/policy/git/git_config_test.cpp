#include <gtest/gtest.h>

#include "policy/git/git_paths.h"

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

TEST(NewRepositoryConfig, HasWhatGitInitWrites) {
  constexpr const char* kText =
      "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = false\n"
      "[extensions]\n\tobjectformat = sha256\n"
      "[user]\n\tname = \"Ada \\\"L\\\" #1\"\n\temail = \"ada@example.test\"\n";
  EXPECT_EQ(NewRepositoryConfig(kText), kText);
  EXPECT_EQ(NewRepositoryConfig(""), "");
}

TEST(NewRepositoryConfig, HasNothingThatRunsAProgramOrLeadsToAFile) {
  EXPECT_EQ(NewRepositoryConfig("[core]\nfsmonitor = evil\nhooksPath = x\nworktree = /\n"
                                "sshCommand = evil\npager = evil\neditor = evil\n"
                                "attributesFile = x\nexcludesFile = x\ngitProxy = evil\n"
                                "[include]\npath = x\n[includeIf \"gitdir:/\"]\npath = x\n"
                                "[filter \"x\"]\nclean = evil\n[diff \"x\"]\ncommand = evil\n"
                                "[alias]\nst = !evil\n[remote \"o\"]\nuploadpack = evil\n"
                                "[credential]\nhelper = evil\n[gpg]\nprogram = evil\n"
                                "[user]\nsigningKey = x\n[extensions]\nworktreeConfig = true\n"),
            "");
}

TEST(NewRepositoryConfig, AValueStaysAValue) {
  const std::string text = NewRepositoryConfig(
      "[user]\nname = \"a\\n[core]\\n\\tfsmonitor = evil\"\nemail = \"\\\\\"\n");
  EXPECT_EQ(ReadGitConfig(text),
            (Settings{{"user.name", "a\n[core]\n\tfsmonitor = evil"}, {"user.email", "\\"}}));
}

}  // namespace
}  // namespace native_runner
