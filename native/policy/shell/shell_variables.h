#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

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

}  // namespace native_runner
