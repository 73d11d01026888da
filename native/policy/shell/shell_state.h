#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shell/shell_variables.h"

namespace native_runner {

// What a shell session keeps from one command to the next: each is a shell of its own, which starts
// with what the one before left, and writes down what it leaves itself.
// Only bash can read what bash has written, so that it has variables of its own.
struct ShellState {
  std::string cwd;  // absolute, as the command sees it; empty: where the session began
  ShellVariables posix;
  ShellVariables bash;
  std::string functions;  // of bash, for it to evaluate
};

// What is kept of it at most.
inline constexpr std::size_t kMostShellState = std::size_t{1} << 20U;

// A shell command with a state. Nothing of it but a few words shows in the list of processes.
struct ShellCommand {
  std::vector<std::string> argv;
  std::string prelude;  // what the shell reads first, and behind which it writes what it leaves
};

// The same command, with its prelude to be found as kStateDescriptor (report.h). `named`
// ("NAME=value") is the call's own: it wins over the state. Of a shell command only
// (IsShellCommand).
ShellCommand WithShellState(const std::vector<std::string>& argv,
                            const std::vector<std::string>& named, const ShellState& state);

// Takes what the shell wrote, if it came to its end: an empty `cwd` where its directory can't be
// told. What the call named is not handed on: it is as it was. Else why there is no state, as a
// clause, and `state` is left as it is.
std::optional<std::string> ReadShellState(std::string_view written,
                                          const std::vector<std::string>& named, ShellState* state);

}  // namespace native_runner
