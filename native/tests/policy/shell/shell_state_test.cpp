#include "policy/shell/shell_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace native_runner {
namespace {

using Argv = std::vector<std::string>;

TEST(ShellState, KnowsAShellCommandInEverySpelling) {
  const Argv shells[] = {
      {"sh", "-c", "x"},
      {"bash", "-lc", "x"},
      {"/usr/bin/bash", "-l", "-c", "x"},
      {"dash", "-ec", "x", "name", "arg"},
      {"bash", "-euo", "pipefail", "-c", "x"},
      {"bash", "-c", "-e", "x"},
      {"bash", "-c", "--", "-x"},
      {"ash", "-c", ""},
  };
  for (const Argv& argv : shells)
    EXPECT_TRUE(IsShellCommand(argv)) << argv[1];
  const Argv others[] = {
      {"ls", "-c", "x"},
      {"bash", "script"},
      {"bash", "-s", "-c", "x"},
      {"bash", "-c"},
      {"bash", "-i", "-c", "x"},
      {"bash", "--norc", "-c", "x"},
      {"sh", "-n", "-c", ""},
      {"bash", "-o", "-c", "x"},
      {"bash", "-o", "pipe fail", "-c", "x"},
      {"sh"},
      {"bash", "-", "-c", "x"},
      {"rbash", "-c", "x"},
  };
  for (const Argv& argv : others)
    EXPECT_FALSE(IsShellCommand(argv)) << argv.back();
}

TEST(ShellState, LeavesTheCommandAsItWasButForAFewWords) {
  const ShellState state{"/w", "A=1", "B='2'"};
  const ShellCommand command =
      WithShellState({"bash", "-lc", "-e", "a\nb", "name", "1"}, {}, state);
  EXPECT_EQ(command.argv, (Argv{"bash", "-lc", ". /proc/self/fd/83; a\nb", "name", "1"}));
  EXPECT_TRUE(
      command.prelude.starts_with("if [ -n \"${BASH_VERSION-}\" ]; then eval "
                                  "'B='\\''2'\\'''; else eval 'A=1'; fi 2>/dev/null\n"))
      << command.prelude;
  EXPECT_TRUE(command.prelude.ends_with("\nset -e\n"));
}

TEST(ShellState, SetsOptionsThatWouldActOnItLast) {
  const auto prelude = [](const Argv& argv) { return WithShellState(argv, {}, {}).prelude; };
  EXPECT_TRUE(
      prelude({"bash", "-xeuo", "pipefail", "-c", "x"}).ends_with("\nset -x -e -u -o pipefail\n"));
  EXPECT_TRUE(prelude({"bash", "-c", "x"}).ends_with("' EXIT\n"));
  EXPECT_EQ(WithShellState({"bash", "-xfc", "x"}, {}, {}).argv[1], "-fc");
}

TEST(ShellState, PutsWhatACallNamesOnTopAndIntoNoArgument) {
  const ShellCommand command =
      WithShellState({"sh", "-c", "x"}, {"A=it's", "B=1=2\n", "not.a.name=3"}, {"/w", "A=0", ""});
  EXPECT_LT(command.prelude.find("A=0"), command.prelude.find("export A='it'\\''s'\n"));
  EXPECT_NE(command.prelude.find("export B='1=2\n'\n"), std::string::npos);
  EXPECT_TRUE(command.prelude.starts_with("command unset -v A 2>/dev/null\ncommand unset -v B"));
  EXPECT_NE(command.prelude.find("|| A=\"$__nr_was_A\""), std::string::npos);
  EXPECT_EQ(command.prelude.find("not.a.name"), std::string::npos);
  for (const std::string& word : command.argv)
    EXPECT_EQ(word.find("it"), std::string::npos);
}

TEST(ShellState, PutsBackWhatACallOverrode) {
  const auto prelude = [](const char* posix) {
    return WithShellState({"sh", "-c", "x"}, {"A=1", "IFS=:"}, {"/w", posix, ""}).prelude;
  };
  const std::string exported = "|| export A=\"$__nr_was_A\"";
  EXPECT_NE(prelude("B='x'\nexport A='0'\n").find(exported), std::string::npos);
  EXPECT_NE(prelude("export A='0'\n").find(exported), std::string::npos);
  for (const char* const other :
       {"", "A='0'\n", "export AB='0'\n", "B='\nexport A=0'\n", "B='\nexport A='\"'\"'0'\n"})
    EXPECT_EQ(prelude(other).find(exported), std::string::npos) << other;
  EXPECT_EQ(prelude("").find("unset -v __nr_was_IFS"), std::string::npos);
}

TEST(ShellState, ReadsOnlyWhatIsWhole) {
  const auto read = [](std::string_view text) {
    ShellState state{"/before", "P", "B"};
    const bool is_read = ReadShellState(text, &state);
    return (is_read ? "" : "no ") + state.cwd + "|" + state.posix + "|" + state.bash;
  };
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(read("/a b\n\0X=1\n#end\n"sv), "/a b|X=1\n#end\n|B");
  EXPECT_EQ(read("/a\n\0#bash\nX=1\n#end\n"sv), "/a|P|#bash\nX=1\n#end\n");
  EXPECT_EQ(read("/a\nb\n\0\n#end\n"sv), "/a\nb|\n#end\n|B");
  EXPECT_EQ(read("\0X=1\n#end\n"sv), "|X=1\n#end\n|B");
  for (const std::string_view broken :
       {""sv, "\0"sv, "/a\n\0X=1"sv, "/a\n\0X=1\n#end"sv, "a\n\0\n#end\n"sv, "/a\0\n#end\n"sv,
        "/a\n\n#end\n"sv, "/a\n\0X\0Y\n#end\n"sv, "noise/a\n\0X\n#end\n"sv}) {
    EXPECT_EQ(read(broken), "no /before|P|B");
  }
}

}  // namespace
}  // namespace native_runner
