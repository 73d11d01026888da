#include "policy/shell/shell_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/report.h"

namespace native_runner {
namespace {

// Those that the text below is for.
constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "ash"};

constexpr std::string_view kBash = "#bash\n";
constexpr std::string_view kEnd = "\n#end\n";

// Options that would act on the prelude as well; it sets them last.
constexpr std::string_view kSetLast = "aeuvx";
constexpr std::string_view kOthers = "bfhkmpBCEHPTlc";

// When the shell ends, what it leaves goes behind the prelude: "CWD NEWLINE NUL [#bash] TEXT END".
// For a POSIX shell, with more where it is bash: arrays, attributes and functions. The status that
// it ends with is not changed by a trap (POSIX, exit). No single quote may be in here.
constexpr const char* kSaveBefore =
    "{ set +aeuxvC; trap \"\" XFSZ; } >/dev/null 2>&1; "
    "{ if [ -d \"$PWD\" ]; then command pwd; fi; command printf \"\\000\"; "
    "unset -v IFS __nr_lost; ";
constexpr const char* kSaveAfter =
    "if [ -n \"${BASH_VERSION-}\" ]; then trap - DEBUG ERR RETURN; command printf \"#bash\\n\"; "
    "__nr_names=$(compgen -v) || __nr_lost=1; "  // a process, which may be killed
    "for __nr_name in $__nr_names; do case $__nr_name in "
    "BASH*|_|__nr_*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTERR|OPTIND|"
    "PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID) ;; "
    "*) declare -p \"$__nr_name\" ;; esac; done; declare -f; declare -Fx; "
    "else for __nr_name in PPID PS1 PS2 PS4 PWD __nr_name; "
    "do command unset -v $__nr_name; done; set; export -p; fi; "
    "[ -n \"${__nr_lost-}\" ] || command printf \"\\n#end\\n\"; } 2>/dev/null";

constexpr const char* kForget = "command unset -v ";  // unset alone ends a shell where it fails

std::string PathOfState() {
  return "/proc/self/fd/" + std::to_string(kStateDescriptor);
}

// How a shell was called.
struct Call {
  std::vector<std::string> argv;  // the program and the options that stay
  std::string settings;           // those that the prelude sets
  std::size_t script = 0;         // its place; 0: there is none, or something that we do not know
};

bool IsName(std::string_view text, bool is_option) {
  const auto is_letter = [is_option](char c) {
    const bool is_lower = c >= 'a' && c <= 'z';
    return is_option ? is_lower || c == '-' : is_lower || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_next = [&](char c) { return is_letter(c) || (!is_option && c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_next);
}

// One word of options; false where one is not known. `takes_name`: the next word is -o's.
bool ReadOptions(std::string_view word, Call* call, bool* takes_name, bool* has_script) {
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

Call ReadCall(const std::vector<std::string>& argv) {
  Call call;
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
    if (++at == argv.size() || !IsName(argv[at], true)) return {};
    call.settings += " -o " + argv[at];
  }
  if (has_script && at < argv.size()) call.script = at;
  return call;
}

bool IsKnownShell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

// A variable that the call names, on top of the state for this call alone. What it was in the state
// is kept in variables of our own, as text (bash, with its attributes) or as a value, and put back
// when the shell ends. An array or an integer of that name would not take the value.
struct Override {
  std::string name;
  std::string value;
  bool was_exported = false;  // in the state; bash tells by itself

  std::string Set() const {
    return "case ${BASH_VERSION-} in [5-9].*|4.[4-9]*) eval '__nr_how_" + name + "=${" + name +
           "[@]@A}' ;; *) [ -z \"${" + name + "+x}\" ] || __nr_was_" + name + "=$" + name +
           " ;; esac; " + kForget + name + " 2>/dev/null\nexport " + name + "=" + Quoted(value) +
           "\n";
  }
  std::string PutBack() const {
    const std::string was = "__nr_was_" + name;
    const std::string how = "__nr_how_" + name;
    return kForget + name + "; [ -z \"${" + was + "+x}\" ] || " + (was_exported ? "export " : "") +
           name + "=\"$" + was + "\"; eval \"${" + how + "-}\"; " + kForget + was + " " + how +
           "; ";
  }
};

// Whether a POSIX shell wrote so, and not a value with such a line: there, a quote ends the quoted
// text and is itself written next.
bool Exports(const std::string& posix, const std::string& name) {
  const std::string start = "\nexport " + name + "='";
  const std::string text = "\n" + posix;
  for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
    at += start.size();
    if (text.compare(at, 3, "\"'\"") != 0) return true;
  }
  return false;
}

// IFS is no part of a state. A name that no shell has a variable of is none of ours.
std::vector<Override> OverridesOf(const std::vector<std::string>& named, const ShellState& state) {
  std::vector<Override> overrides;
  for (const std::string& variable : named) {
    const std::size_t at = variable.find('=');
    Override made{variable.substr(0, at), variable.substr(at + 1)};
    if (!IsName(made.name, false)) continue;
    made.was_exported = Exports(state.posix, made.name);
    overrides.push_back(std::move(made));
  }
  return overrides;
}

}  // namespace

bool IsShellCommand(const std::vector<std::string>& argv) {
  return IsKnownShell(argv[0]) && ReadCall(argv).script != 0;
}

// The script stays where it was, on the line on which it was: the shell numbers its lines as ever.
// One with a wrong first line runs nothing of this, so that it leaves no state.
ShellCommand WithShellState(const std::vector<std::string>& argv,
                            const std::vector<std::string>& named, const ShellState& state) {
  Call call = ReadCall(argv);
  const auto script = argv.begin() + static_cast<std::ptrdiff_t>(call.script);
  ShellCommand command;
  command.argv = std::move(call.argv);
  command.argv.push_back(". " + PathOfState() + "; " + *script);
  command.argv.insert(command.argv.end(), script + 1, argv.end());
  const std::vector<Override> overrides = OverridesOf(named, state);
  for (const Override& each : overrides)  // the shell found it in its environment
    command.prelude += kForget + each.name + " 2>/dev/null\n";
  command.prelude += "if [ -n \"${BASH_VERSION-}\" ]; then eval " + Quoted(state.bash) +
                     "; else eval " + Quoted(state.posix) + "; fi 2>/dev/null\n";
  std::string put_back;
  for (const Override& each : overrides) {
    command.prelude += each.Set();
    if (each.name != "IFS") put_back += each.PutBack();
  }
  command.prelude += std::string("trap '") + kSaveBefore + put_back + kSaveAfter + " >>" +
                     PathOfState() + "' EXIT\n";
  if (!call.settings.empty()) command.prelude += "set" + call.settings + "\n";
  return command;
}

bool ReadShellState(std::string_view written, ShellState* state) {
  const std::size_t nul = written.find('\0');
  if (nul == std::string_view::npos || !written.ends_with(kEnd)) return false;
  const std::string_view text = written.substr(nul + 1);
  if (text.find('\0') != std::string_view::npos) return false;
  std::string_view cwd = written.substr(0, nul);
  if (!cwd.empty() && (cwd[0] != '/' || cwd.back() != '\n')) return false;
  if (!cwd.empty()) cwd.remove_suffix(1);
  state->cwd = cwd;
  (text.starts_with(kBash) ? state->bash : state->posix) = text;
  return true;
}

}  // namespace native_runner
