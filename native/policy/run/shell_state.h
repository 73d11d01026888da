#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// A shell's command line, split so that text can be put in front of its script.
struct ShellCall {
  std::vector<std::string> argv;  // the program and the options that stay
  std::string settings;           // options to set after the text in front
  std::size_t script = 0;         // index of the script; 0: no script, or an unknown option
};

// Reads `argv` as SHELL -c SCRIPT, in any spelling of the options, for a program of any name.
ShellCall ReadShellCall(const std::vector<std::string>& argv);

// True if `argv` is such a call of a known shell (sh, bash, dash, ash).
bool IsShellCommand(const std::vector<std::string>& argv);

// True if a shell can have a variable with this name.
bool IsVariableName(std::string_view name);

// Returns `text` as one word of a shell, in double quotes. For each piece in single quotes bash
// scans the rest of the word (in a locale with more than one byte a character), so a long text with
// many pieces would take minutes.
std::string QuotedForShell(std::string_view text);

// A shell's variables by name, each as the text that sets it.
class ShellVariables {
 public:
  // Reads the output of a POSIX shell's `set; export -p`: lines of NAME=WORD and export
  // NAME[=WORD]. Returns nullopt for any other text, so that the result only sets variables.
  static std::optional<ShellVariables> ReadPosix(std::string_view text);
  // Reads the output of bash's `declare -p NAME`, each followed by NUL. Only bash can interpret it.
  static std::optional<ShellVariables> ReadBash(std::string_view text);

  // Returns a text that the shell evaluates to set all variables but those in `names`.
  std::string TextWithout(const std::vector<std::string>& names) const;

  // Resets these variables to their state in `before`; removes those that it lacks.
  void PutBack(const std::vector<std::string>& names, const ShellVariables& before);

  bool operator==(const ShellVariables&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> text_;
};

// The state that a shell session keeps from one command to the next. Each command is a shell of its
// own, which starts with the state that the previous one left and writes its own when it ends. Only
// bash can read bash's output, so bash has variables of its own.
struct ShellState {
  std::string cwd;  // absolute, as the command sees it; empty: where the session began
  ShellVariables posix;
  ShellVariables bash;
  std::string functions;  // of bash, which evaluates them
};

// The most bytes kept of a shell's state.
inline constexpr std::size_t kMostShellState = std::size_t{1} << 20U;

// A shell command with a state. The list of processes shows only a few words of it.
struct ShellCommand {
  std::vector<std::string> argv;
  std::string prelude;  // read first by the shell, which appends its state to it when it ends
};

// Returns the same command, with its prelude in kStateDescriptor (report.h). `named` ("NAME=value")
// are the call's own variables and win over the state. `argv` must be a shell command
// (IsShellCommand).
ShellCommand WithShellState(const std::vector<std::string>& argv,
                            const std::vector<std::string>& named, const ShellState& state);

// Takes the state that a shell wrote when it ended; an empty `cwd` if its directory is unknown.
// Variables that the call named keep their earlier value. Returns why there is no state, as a
// clause, and then leaves `state` unchanged.
std::optional<std::string> ReadShellState(std::string_view written,
                                          const std::vector<std::string>& named, ShellState* state);

}  // namespace native_runner
