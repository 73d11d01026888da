#include "policy/shell/shell_state.h"

#include <utility>

#include "policy/shell/shell_call.h"
#include "protocol/report.h"

namespace native_runner {
namespace {

constexpr std::string_view kBash = "#bash\n";
constexpr std::string_view kFunctions = "#functions\n";
constexpr std::string_view kEnd = "\n#end\n";

// When the shell ends, what it leaves goes behind the prelude: "CWD NEWLINE NUL VARIABLES END". For
// a POSIX shell; bash says "#bash" first, a NUL after each variable, and its functions behind them.
// The status that the shell ends with is not changed by a trap (POSIX, exit). `command`: a function
// of the script's own may have any of these names. No single quote may be in here.
constexpr const char* kSaveBefore =
    "{ command set +aeuxvC; command trap \"\" XFSZ; } >/dev/null 2>&1; "
    "{ command pwd; command printf \"\\000\"; command unset -v IFS __nr_lost; ";
constexpr const char* kSaveAfter =
    "if [ -n \"${BASH_VERSION-}\" ]; then command trap - DEBUG ERR RETURN; "
    "command printf \"#bash\\n\"; "
    "__nr_names=$(compgen -v) || __nr_lost=1; "  // a process, which may be killed
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

// A name that no shell has a variable of is none of ours.
std::vector<std::string> NamesOf(const std::vector<std::string>& named) {
  std::vector<std::string> names;
  for (const std::string& variable : named) {
    std::string name = variable.substr(0, variable.find('='));
    if (IsVariableName(name)) names.push_back(std::move(name));
  }
  return names;
}

// In the environment they are already; but the profile of a login shell may have set them, and no
// shell takes IFS from there.
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

// The script stays where it was, on the line on which it was: the shell numbers its lines as ever.
// One with a wrong first line runs nothing of this, so that it leaves no state. Functions come
// last: they may have the name of any word in here.
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
  prelude += std::string("trap '") + kSaveBefore + kSaveAfter + " >>" + PathOfState() + "' EXIT\n";
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
