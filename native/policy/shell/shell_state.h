#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// What a shell session keeps from one command to the next: each is a shell of its own, which starts
// with what the one before left, and writes down what it leaves itself.
// Only bash can read what bash has written, so that it has variables of its own.
struct ShellState {
  std::string cwd;    // absolute, as the command sees it; empty: where the session began
  std::string posix;  // for a shell to evaluate: its variables
  std::string bash;   // and functions
};

// What is kept of it at most; a shell that leaves more leaves things as they were.
inline constexpr std::size_t kMostShellState = std::size_t{1} << 20U;

// A shell command with a state. Nothing of it but a few words shows in the list of processes.
struct ShellCommand {
  std::vector<std::string> argv;
  std::string prelude;  // what the shell reads first, and behind which it writes what it leaves
};

// Whether `argv` is SHELL -c SCRIPT, in whatever spelling of the options, so that it has a state.
bool IsShellCommand(const std::vector<std::string>& argv);

// The same command, with its prelude to be found as kStateDescriptor (report.h). `named`
// ("NAME=value") is the call's own: it wins over the state, and is not handed on. Of a shell
// command only.
ShellCommand WithShellState(const std::vector<std::string>& argv,
                            const std::vector<std::string>& named, const ShellState& state);

// What the shell wrote, if it came to its end: with an empty `cwd` where its directory was gone.
// False: leave `state` as it is.
bool ReadShellState(std::string_view written, ShellState* state);

}  // namespace native_runner
