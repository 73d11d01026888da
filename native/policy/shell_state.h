#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// What a shell session keeps from one command to the next: each is a shell of its own, which starts
// with what the one before left, and writes down what it leaves itself.
struct ShellState {
  std::string cwd;   // absolute, as the command sees it; empty: none yet
  std::string text;  // for the shell to evaluate: its variables and functions
};

// What is kept of it at most; a shell that leaves more leaves things as they were.
inline constexpr std::size_t kMostShellState = std::size_t{1} << 20U;

// Whether `argv` is SHELL -c SCRIPT, in whatever spelling of the options, so that it has a state.
bool IsShellCommand(const std::vector<std::string>& argv);

// The same command, between reading the state and writing it, on kStateDescriptor (report.h).
// `named` ("NAME=value") are set again on top of the state. Of a shell command only.
std::vector<std::string> WithShellState(const std::vector<std::string>& argv,
                                        const std::vector<std::string>& named);

// What the shell wrote, if it came to its end. False: leave `state` as it is.
bool ReadShellState(std::string_view written, ShellState* state);

}  // namespace native_runner
