#include "policy/run/shell_state.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace native_runner {
namespace {

using Argv = std::vector<std::string>;
using std::string_view_literals::operator""sv;

ShellVariables Posix(std::string_view text) {
  return ShellVariables::ReadPosix(text).value_or(ShellVariables());
}
ShellVariables Bash(std::string_view text) {
  return ShellVariables::ReadBash(text).value_or(ShellVariables());
}

TEST(ShellState, LeavesTheCommandAsItWasButForAFewWords) {
  const ShellState state{"/w", Posix("A=1"), Bash("declare -- B=\"2$x\"\n\0"sv), ""};
  const ShellCommand command =
      WithShellState({"bash", "-lc", "-e", "a\nb", "name", "1"}, {}, state);
  EXPECT_EQ(command.argv, (Argv{"bash", "-lc", ". /proc/self/fd/83; a\nb", "name", "1"}));
  EXPECT_TRUE(command.prelude.starts_with(
      "if [ -n \"${BASH_VERSION-}\" ]; then eval \"declare -- B=\\\"2\\$x\\\"\n"
      "\"; else eval \"A=1\n\"; fi 2>/dev/null\n"))
      << command.prelude;
  EXPECT_TRUE(command.prelude.ends_with("\ncommand set -e\n"));
}

TEST(ShellState, SetsOptionsThatWouldActOnItLast) {
  const auto prelude = [](const Argv& argv) { return WithShellState(argv, {}, {}).prelude; };
  EXPECT_TRUE(prelude({"bash", "-xeuo", "pipefail", "-c", "x"})
                  .ends_with("\ncommand set -x -e -u -o pipefail\n"));
  EXPECT_TRUE(prelude({"bash", "-c", "x"}).ends_with("' EXIT\n"));
  EXPECT_EQ(WithShellState({"bash", "-xfc", "x"}, {}, {}).argv[1], "-fc");
}

TEST(ShellState, PutsWhatACallNamesInPlaceOfTheStateAndIntoNoArgument) {
  const ShellState state{"/w", Posix("A='0'\nC='3'\n"),
                         Bash("declare -r A=\"0\"\n\0declare -- C=\"4\"\n\0"sv), ""};
  const ShellCommand command =
      WithShellState({"sh", "-c", "x"}, {"A=it's", "B=1=2\n$", "not.a.name=3"}, state);
  EXPECT_EQ(command.prelude.find("A='0'"), std::string::npos);
  EXPECT_EQ(command.prelude.find("declare -r A"), std::string::npos);
  EXPECT_NE(command.prelude.find("C='3'"), std::string::npos);
  EXPECT_NE(command.prelude.find("declare -- C"), std::string::npos);
  EXPECT_LT(command.prelude.find("C='3'"), command.prelude.find("export A=\"it's\"\n"));
  EXPECT_NE(command.prelude.find("export B=\"1=2\n\\$\"\n"), std::string::npos);
  EXPECT_EQ(command.prelude.find("not.a.name"), std::string::npos);
  for (const std::string& word : command.argv)
    EXPECT_EQ(word.find("it"), std::string::npos);
}

TEST(ShellState, FunctionsComeAfterAllThatIsCalledByName) {
  const ShellState state{"/w", {}, {}, "export () \n{ \n    :\n}\n"};
  const std::string prelude = WithShellState({"bash", "-c", "x"}, {"A=1"}, state).prelude;
  const std::size_t at = prelude.find("export () ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(at, prelude.find("export A="));
  EXPECT_GT(at, prelude.find("trap '"));
}

TEST(ShellState, ReadsOnlyWhatIsWhole) {
  const ShellState before{"/before", Posix("P=1"), Bash("declare -- B=\"1\"\n\0"sv), "f"};
  const auto read = [&before](std::string_view text) {
    ShellState state = before;
    const auto lost = ReadShellState(text, {}, &state);
    if (lost) {
      EXPECT_EQ(state.cwd, before.cwd);
      EXPECT_EQ(state.posix, before.posix);
      EXPECT_EQ(state.bash, before.bash);
      EXPECT_EQ(state.functions, before.functions);
      return "lost: " + *lost;
    }
    return state.cwd + "|" + state.posix.TextWithout({}) + "|" + state.bash.TextWithout({}) + "|" +
           state.functions;
  };
  const std::string b = "declare -- B=\"1\"\n";
  EXPECT_EQ(read("/a b\n\0X=1\n\n#end\n"sv), "/a b|X=1\n|" + b + "|f");
  EXPECT_EQ(read("/a\n\0#bash\ndeclare -x X=\"2\"\n\0#functions\ng () {}\n\n#end\n"sv),
            "/a|P=1\n|declare -x X=\"2\"\n|g () {}\n");
  EXPECT_EQ(read("/a\n\0#bash\n#functions\n\n#end\n"sv), "/a|P=1\n||");
  EXPECT_EQ(read("/a\nb\n\0\n#end\n"sv), "/a\nb||" + b + "|f");
  EXPECT_EQ(read("\0X=1\n\n#end\n"sv), "|X=1\n|" + b + "|f");
  EXPECT_EQ(read(""),
            "lost: the shell did not come to its own end, or an EXIT trap of the "
            "script's took its place");
  EXPECT_EQ(read(std::string(kMostShellState + 1, 'x')), "lost: it is larger than 1048576 bytes");
  for (const std::string_view broken :
       {"\0"sv, "/a\n\0X=1"sv, "/a\n\0X=1\n#end"sv, "/a\n\n#end\n"sv}) {
    EXPECT_EQ(read(broken), "lost: the shell could not write it to its end");
  }
  for (const std::string_view strange :
       {"a\n\0\n#end\n"sv, "/a\0\n#end\n"sv, "/a\n\0X\0Y\n#end\n"sv, "noise/a\n\0X=1\n#end\n"sv,
        "/a\n\0echo hello\n#end\n"sv, "/a\n\0#bash\necho x\n\0#functions\n\n#end\n"sv,
        "/a\n\0#bash\ndeclare -x X=1\n\n#end\n"sv}) {
    EXPECT_EQ(read(strange), "lost: it is not what a shell writes") << strange;
  }
}

TEST(ShellState, DoesNotHandOnWhatACallNamed) {
  ShellState state{"/w", Posix("A='0'\nexport A='0'\nC='0'\n"), {}, ""};
  const auto lost = ReadShellState("/w\n\0A='9'\nB='9'\nC='9'\n\n#end\n"sv,
                                   {"A=1", "B=1", "IFS=:", "not.a.name=1"}, &state);
  EXPECT_EQ(lost, std::nullopt);
  EXPECT_EQ(state.posix.TextWithout({}), "A='0'\nexport A='0'\nC='9'\n");
}

}  // namespace
}  // namespace native_runner
