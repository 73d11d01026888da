#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/run/shell_state.h"

namespace native_runner {
namespace {

using Argv = std::vector<std::string>;

TEST(ShellCall, IsKnownAsAShellCommandInEverySpelling) {
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

}  // namespace
}  // namespace native_runner
