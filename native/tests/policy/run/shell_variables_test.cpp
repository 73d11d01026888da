#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/run/shell_state.h"

namespace native_runner {
namespace {

using std::string_view_literals::operator""sv;

std::string ReadPosix(std::string_view text) {
  const auto read = ShellVariables::ReadPosix(text);
  return read ? read->TextWithout({}) : "none";
}

TEST(ShellVariables, ReadsWhatAPosixShellSays) {
  for (const char* const text : {"A='1'\n", "A=\n", "A=plain/1.2:x\n", "A='two\nlines'\n",
                                 "A='it'\"'\"'s'\n", "A='it'\\''s'\n", "A=$'a\\'b'\n", "export A\n",
                                 "A='1'\nexport A='1'\n", "A=\"x\\$y\\\\\"\n", "_A9='#end'\n"}) {
    EXPECT_EQ(ReadPosix(text), text);
  }
  EXPECT_EQ(ReadPosix(""), "");
  EXPECT_EQ(ReadPosix("B='2'\nA='1'"), "A='1'\nB='2'\n");
}

TEST(ShellVariables, ReadsNothingThatWouldDoMoreThanSetThem) {
  for (const char* const text :
       {"echo x\n",     "A=1 echo x\n",     "A=$(x)\n",    "A=`x`\n",   "A=1; x\n",   "A=1&\n",
        "A=\"$(x)\"\n", "A=\"\\\\$(x)\"\n", "A=\"`x`\"\n", "A='open\n", "A=\"open\n", "A\n",
        "export\n",     "export A B\n",     "9='1'\n",     "A.B='1'\n", "A=$x\n",     "A=(1)\n",
        "A=1>file\n",   "A='1' x\n",        "A=\\"}) {
    EXPECT_EQ(ReadPosix(text), "none") << text;
  }
}

TEST(ShellVariables, ReadsWhatBashDeclares) {
  const auto read = ShellVariables::ReadBash(
      "declare -ax l=([0]=\"1\")\n\0declare -r B=\"2\n3\"\n\0declare -x C\n\0"sv);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->TextWithout({"l"}), "declare -r B=\"2\n3\"\ndeclare -x C\n");
  for (const std::string_view text : {"declare -- A=1"sv, "echo x\n\0"sv, "declare \0"sv,
                                      "declare -r\0"sv, "declare -- =1\0"sv}) {
    EXPECT_EQ(ShellVariables::ReadBash(text), std::nullopt) << text;
  }
}

TEST(ShellVariables, AreQuotedAsOneWordWithoutSingleQuotes) {
  EXPECT_EQ(QuotedForShell(""), "\"\"");
  EXPECT_EQ(QuotedForShell("it's \"$x\" `y` \\ !\n"), "\"it's \\\"\\$x\\\" \\`y\\` \\\\ !\n\"");
}

TEST(ShellVariables, KnowANameOfOne) {
  for (const char* const name : {"A", "_", "a1_B"})
    EXPECT_TRUE(IsVariableName(name)) << name;
  for (const char* const name : {"", "1A", "a.b", "a-b", "a b", "BASH_FUNC_f%%"})
    EXPECT_FALSE(IsVariableName(name)) << name;
}

}  // namespace
}  // namespace native_runner
