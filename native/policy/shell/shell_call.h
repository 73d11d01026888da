#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace native_runner {

// How a shell was called, as far as it matters to who puts something in front of its script.
struct ShellCall {
  std::vector<std::string> argv;  // the program and the options that stay
  std::string settings;           // those that are to be set after what is put in front
  std::size_t script = 0;         // its place; 0: there is none, or something that we do not know
};

// Of a program of any name: `argv` is SHELL -c SCRIPT, in whatever spelling of the options.
ShellCall ReadShellCall(const std::vector<std::string>& argv);

// Whether `argv` is such a call of a shell that we know (sh, bash, dash, ash).
bool IsShellCommand(const std::vector<std::string>& argv);

}  // namespace native_runner
