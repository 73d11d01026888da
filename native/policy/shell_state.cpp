#include "policy/shell_state.h"

#include <algorithm>
#include <array>

namespace native_runner {
namespace {

// Those that the script below is for.
constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "ash"};

constexpr std::string_view kEnd = "\n#end\n";

// For a POSIX shell, with more where it is bash: arrays, attributes and functions. The state that
// the last command left is on descriptor 9; that of this one is written behind it: "CWD NUL TEXT
// END". A script that ends by `exit` is saved by the trap, unless it sets one itself. All on one
// line, so that the shell numbers the lines of the script, which starts there, as it would without
// us.
constexpr const char* kWrapper =
    // clang-format off
    "__nr_save() { __nr_saved=1; { printf '%s\\000' \"$PWD\"; "
      "if [ -n \"${BASH_VERSION-}\" ]; then "
        "for __nr_name in $(compgen -v); do case $__nr_name in "
          "BASH*|_|__nr_*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|IFS|LINENO|OPTERR|"
          "OPTIND|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID) ;; "
          "*) declare -p \"$__nr_name\" ;; "
        "esac; done; unset -f __nr_save; declare -f; "
      "else unset -v __nr_script; set; export -p; fi; "
      "printf '\\n#end\\n'; } 2>/dev/null >&9; }; "
    "if [ -n \"${BASH_VERSION-}\" ]; then IFS= read -r -d '' __nr_state <&9; "
      "else __nr_state=$(cat <&9); fi; "
    "eval \"$__nr_state\" 2>/dev/null; unset -v __nr_state; "
    "__nr_left=$1; shift; "
    "while [ \"$__nr_left\" -gt 0 ]; do export \"$1\"; shift; __nr_left=$((__nr_left - 1)); done 2>/dev/null; "
    "__nr_script=$1; shift; unset -v __nr_left __nr_saved; "
    "trap '{ __nr_status=$?; set +ex; } 2>/dev/null; trap - EXIT; "
      "[ -n \"${__nr_saved-}\" ] || __nr_save; exit \"$__nr_status\"' EXIT; "
    "eval \"$__nr_script\"\n"
    "{ __nr_status=$?; set +ex; } 2>/dev/null; __nr_save; exit \"$__nr_status\"";
// clang-format on

// The place of the script in argv; 0 where there is none.
std::size_t ScriptAt(const std::vector<std::string>& argv) {
  for (std::size_t at = 1; at + 1 < argv.size(); ++at) {
    const std::string& option = argv[at];
    if (option.size() < 2 || option[0] != '-' || option[1] == '-') return 0;
    if (option.find_first_not_of("abefhkmnptuvxBCEHPTlc", 1) != std::string::npos) return 0;
    if (option.find('c') != std::string::npos) return at + 1;
  }
  return 0;
}

bool IsKnownShell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

}  // namespace

bool IsShellCommand(const std::vector<std::string>& argv) {
  return IsKnownShell(argv[0]) && ScriptAt(argv) != 0;
}

std::vector<std::string> WithShellState(const std::vector<std::string>& argv,
                                        const std::vector<std::string>& named) {
  const std::size_t at = ScriptAt(argv);
  std::vector<std::string> wrapped(argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(at));
  wrapped.emplace_back(kWrapper);
  wrapped.push_back(at + 1 < argv.size() ? argv[at + 1] : argv[0]);
  wrapped.push_back(std::to_string(named.size()));
  wrapped.insert(wrapped.end(), named.begin(), named.end());
  wrapped.push_back(argv[at]);
  if (at + 2 < argv.size()) {
    wrapped.insert(wrapped.end(), argv.begin() + static_cast<std::ptrdiff_t>(at) + 2, argv.end());
  }
  return wrapped;
}

bool ReadShellState(std::string_view written, ShellState* state) {
  const std::size_t nul = written.find('\0');
  if (nul == std::string_view::npos || written.empty() || written[0] != '/') return false;
  if (!written.ends_with(kEnd)) return false;
  const std::string_view text = written.substr(nul + 1);
  if (text.find('\0') != std::string_view::npos) return false;
  *state = {std::string(written.substr(0, nul)), std::string(text)};
  return true;
}

}  // namespace native_runner
