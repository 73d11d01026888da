#include "policy/run/shell_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/report.h"

namespace native_runner {
namespace {

// The shells that the state's prelude supports.
constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "ash"};

// Options that would also affect the prelude, so it sets them last.
constexpr std::string_view kSetLast = "aeuvx";
constexpr std::string_view kOthers = "bfhkmpBCEHPTlc";

bool IsOptionName(std::string_view text) {
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_lower);
}

// Reads one word of options. Returns false if one is unknown. `takes_name`: the next word is the
// name of an -o.
bool ReadOptions(std::string_view word, ShellCall* call, bool* takes_name, bool* has_script) {
  std::string stays;
  for (const char letter : word.substr(1)) {
    if (letter == 'o') {
      if (std::exchange(*takes_name, true)) return false;
    } else if (kSetLast.find(letter) != std::string_view::npos) {
      call->settings += std::string(" -") + letter;
    } else if (kOthers.find(letter) != std::string_view::npos) {
      *has_script |= letter == 'c';
      stays += letter;
    } else {
      return false;
    }
  }
  if (!stays.empty()) call->argv.push_back("-" + stays);
  return true;
}

bool IsKnownShell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

}  // namespace

ShellCall ReadShellCall(const std::vector<std::string>& argv) {
  ShellCall call;
  call.argv = {argv[0]};
  bool has_script = false;
  std::size_t at = 1;
  for (; at < argv.size() && argv[at].size() > 1 && argv[at][0] == '-'; ++at) {
    if (argv[at] == "--") {
      ++at;
      break;
    }
    bool takes_name = false;
    if (!ReadOptions(argv[at], &call, &takes_name, &has_script)) return {};
    if (!takes_name) continue;
    if (++at == argv.size() || !IsOptionName(argv[at])) return {};
    call.settings += " -o " + argv[at];
  }
  if (has_script && at < argv.size()) call.script = at;
  return call;
}

bool IsShellCommand(const std::vector<std::string>& argv) {
  return IsKnownShell(argv[0]) && ReadShellCall(argv).script != 0;
}

namespace {

constexpr std::string_view kExport = "export ";
constexpr std::string_view kDeclare = "declare -";

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool IsNext(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9');
}

// Returns the name at the start of `text`; empty if it does not start with one.
std::string_view NameAt(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return {};
  const auto end = std::find_if_not(text.begin(), text.end(), IsNext);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Returns the position after the quote that closes the one at `at`; npos if none does, or if the
// quoted text would run something. `escapes`: a backslash escapes the next character.
std::size_t EndOfQuoted(std::string_view text, std::size_t at, char quote, bool escapes) {
  const bool is_active = quote == '"';
  for (; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    if (escapes && text[at] == '\\') {
      ++at;
    } else if (is_active && (text[at] == '$' || text[at] == '`')) {
      break;
    }
  }
  return std::string_view::npos;
}

// Returns where the word at `at` ends, which must be at a line's end; npos if it is not one plain
// word.
std::size_t EndOfWord(std::string_view text, std::size_t at) {
  constexpr std::string_view kActive = " \t|&;<>()$`";
  while (at < text.size() && text[at] != '\n') {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      at = EndOfQuoted(text, at + 1, c, c == '"');
    } else if (c == '$' && at + 1 < text.size() && text[at + 1] == '\'') {
      at = EndOfQuoted(text, at + 2, '\'', true);
    } else if (c == '\\') {
      at += 2;
    } else {
      at = kActive.find(c) == std::string_view::npos ? at + 1 : std::string_view::npos;
    }
    if (at > text.size()) return std::string_view::npos;
  }
  return at;
}

}  // namespace

bool IsVariableName(std::string_view name) {
  return !name.empty() && NameAt(name).size() == name.size();
}

std::string QuotedForShell(std::string_view text) {
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  for (const char letter : text) {
    if (letter == '"' || letter == '$' || letter == '`' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "\"";
}

std::optional<ShellVariables> ShellVariables::ReadPosix(std::string_view text) {
  ShellVariables read;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++at;
      continue;
    }
    const std::size_t start = at;
    if (text.substr(at).starts_with(kExport)) at += kExport.size();
    const std::string_view name = NameAt(text.substr(at));
    at += name.size();
    const bool has_value = at < text.size() && text[at] == '=';
    if (name.empty() || (!has_value && at - name.size() == start)) return std::nullopt;
    if (has_value) at = EndOfWord(text, at + 1);
    if (at > text.size() || (at < text.size() && text[at] != '\n')) return std::nullopt;
    read.text_[std::string(name)].append(text.substr(start, at - start)).append("\n");
  }
  return read;
}

std::optional<ShellVariables> ShellVariables::ReadBash(std::string_view text) {
  ShellVariables read;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view said = text.substr(0, end);
    const std::size_t flags_end = said.find(' ', kDeclare.size());
    if (!said.starts_with(kDeclare) || flags_end == std::string_view::npos) return std::nullopt;
    const std::string_view name = NameAt(said.substr(flags_end + 1));
    if (name.empty()) return std::nullopt;
    read.text_[std::string(name)] = said;
    text.remove_prefix(end + 1);
  }
  return read;
}

std::string ShellVariables::TextWithout(const std::vector<std::string>& names) const {
  std::string text;
  for (const auto& [name, said] : text_) {
    if (std::find(names.begin(), names.end(), name) == names.end()) text += said;
  }
  return text;
}

void ShellVariables::PutBack(const std::vector<std::string>& names, const ShellVariables& before) {
  for (const std::string& name : names) {
    const auto found = before.text_.find(name);
    if (found == before.text_.end()) {
      text_.erase(name);
    } else {
      text_[name] = found->second;
    }
  }
}

namespace {

constexpr std::string_view kBash = "#bash\n";
constexpr std::string_view kFunctions = "#functions\n";
constexpr std::string_view kEnd = "\n#end\n";

// When the shell ends, it appends its state to the prelude: "CWD NEWLINE NUL VARIABLES END" for a
// POSIX shell. bash writes "#bash" first, a NUL after each variable, and its functions after them.
// A trap does not change the shell's exit status (POSIX, exit). `command` is needed because the
// script's functions may have any of these names. This text must not contain single quotes.
constexpr const char* kSaveBefore =
    "{ command set +aeuxvC; command trap \"\" XFSZ; } >/dev/null 2>&1; "
    "{ command pwd; command printf \"\\000\"; command unset -v IFS __nr_lost; ";
constexpr const char* kSaveAfter =
    "if [ -n \"${BASH_VERSION-}\" ]; then command trap - DEBUG ERR RETURN; "
    "command printf \"#bash\\n\"; "
    "__nr_names=$(compgen -v) || __nr_lost=1; "  // runs in a process, which may be killed
    "for __nr_name in $__nr_names; do case $__nr_name in "
    "BASH*|_|__nr_*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTERR|OPTIND|"
    "PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID) ;; "
    "*) command declare -p \"$__nr_name\" && command printf \"\\000\" ;; esac; done; "
    "command printf \"#functions\\n\"; command declare -f; command declare -Fx; "
    "else for __nr_name in PPID PS1 PS2 PS4 PWD __nr_name; "
    "do command unset -v $__nr_name; done; command set; command export -p; fi; "
    "[ -n \"${__nr_lost-}\" ] || command printf \"\\n#end\\n\"; } 2>/dev/null";

std::string PathOfState() {
  return "/proc/self/fd/" + std::to_string(kStateDescriptor);
}

// Returns the names in `named`. Skips a name that no shell variable can have.
std::vector<std::string> NamesOf(const std::vector<std::string>& named) {
  std::vector<std::string> names;
  for (const std::string& variable : named) {
    std::string name = variable.substr(0, variable.find('='));
    if (IsVariableName(name)) names.push_back(std::move(name));
  }
  return names;
}

// Exports variables that the environment already has: a login shell's profile may have changed
// them, and no shell takes IFS from the environment.
std::string Exports(const std::vector<std::string>& named) {
  std::string text;
  for (const std::string& variable : named) {
    const std::size_t at = variable.find('=');
    const std::string name = variable.substr(0, at);
    if (!IsVariableName(name)) continue;
    text += "export " + name + "=" + QuotedForShell(variable.substr(at + 1)) + "\n";
  }
  return text.empty() ? text : "{ " + text + "} 2>/dev/null\n";
}

}  // namespace

// The script keeps its place and line, so the shell's line numbers stay the same. If the script's
// first line is wrong, none of this runs and there is no state. Functions come last, because they
// may have the name of any word in here.
ShellCommand WithShellState(const std::vector<std::string>& argv,
                            const std::vector<std::string>& named, const ShellState& state) {
  ShellCall call = ReadShellCall(argv);
  const auto script = argv.begin() + static_cast<std::ptrdiff_t>(call.script);
  ShellCommand command;
  command.argv = std::move(call.argv);
  command.argv.push_back(". " + PathOfState() + "; " + *script);
  command.argv.insert(command.argv.end(), script + 1, argv.end());
  const std::vector<std::string> names = NamesOf(named);
  std::string& prelude = command.prelude;
  prelude = "if [ -n \"${BASH_VERSION-}\" ]; then eval " +
            QuotedForShell(state.bash.TextWithout(names)) + "; else eval " +
            QuotedForShell(state.posix.TextWithout(names)) + "; fi 2>/dev/null\n";
  prelude += Exports(named);
  prelude.append("trap '").append(kSaveBefore).append(kSaveAfter);
  prelude.append(" >>").append(PathOfState()).append("' EXIT\n");
  if (!state.functions.empty()) {
    prelude +=
        "[ -z \"${BASH_VERSION-}\" ] || eval " + QuotedForShell(state.functions) + " 2>/dev/null\n";
  }
  if (!call.settings.empty()) prelude += "command set" + call.settings + "\n";
  return command;
}

std::optional<std::string> ReadShellState(std::string_view written,
                                          const std::vector<std::string>& named,
                                          ShellState* state) {
  if (written.empty()) {
    return "the shell did not come to its own end, or an EXIT trap of the script's took its place";
  }
  if (written.size() > kMostShellState) {
    return "it is larger than " + std::to_string(kMostShellState) + " bytes";
  }
  const std::string cut_off = "the shell could not write it to its end";
  const std::string strange = "it is not what a shell writes";
  const std::size_t nul = written.find('\0');
  if (nul == std::string_view::npos || !written.ends_with(kEnd)) return cut_off;
  std::string_view cwd = written.substr(0, nul);
  if (!cwd.empty() && (cwd[0] != '/' || cwd.back() != '\n')) return strange;
  if (!cwd.empty()) cwd.remove_suffix(1);
  std::string_view text = written.substr(nul + 1);
  text.remove_suffix(kEnd.size());
  const bool is_bash = text.starts_with(kBash);
  if (is_bash) text.remove_prefix(kBash.size());
  std::string_view functions;
  if (is_bash) {
    const std::size_t last = text.rfind('\0');
    const std::size_t at = last == std::string_view::npos ? 0 : last + 1;
    functions = text.substr(at);
    if (!functions.starts_with(kFunctions)) return strange;
    functions.remove_prefix(kFunctions.size());
    text = text.substr(0, at);
  }
  auto variables = is_bash ? ShellVariables::ReadBash(text) : ShellVariables::ReadPosix(text);
  if (!variables) return strange;
  ShellVariables& kept = is_bash ? state->bash : state->posix;
  variables->PutBack(NamesOf(named), kept);
  kept = std::move(*variables);
  if (is_bash) state->functions = functions;
  state->cwd = cwd;
  return std::nullopt;
}

}  // namespace native_runner
