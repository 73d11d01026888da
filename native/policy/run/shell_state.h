#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// Whether a shell can have a variable of this name.
bool IsVariableName(std::string_view name);

// `text` as one word of a shell. In double quotes: bash looks at all that is left of a word for
// each piece of it in single quotes (in a locale of more than one byte a character), so a long text
// with many of those would take it minutes.
std::string QuotedForShell(std::string_view text);

// A shell's variables, each as the text that sets it, by name.
class ShellVariables {
 public:
  // What a POSIX shell's `set; export -p` says: lines of NAME=WORD and export NAME[=WORD]. None
  // where something else is in it, so that it sets variables and does nothing more.
  static std::optional<ShellVariables> ReadPosix(std::string_view text);
  // What bash's `declare -p NAME` says, each followed by NUL. Only bash knows what is in it.
  static std::optional<ShellVariables> ReadBash(std::string_view text);

  // For the shell to evaluate: all of them but those in `names`.
  std::string TextWithout(const std::vector<std::string>& names) const;

  // Makes these variables what they are in `before`, also where they are none there.
  void PutBack(const std::vector<std::string>& names, const ShellVariables& before);

  bool operator==(const ShellVariables&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> text_;
};

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
