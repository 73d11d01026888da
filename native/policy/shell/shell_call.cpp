#include "policy/shell/shell_call.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace native_runner {
namespace {

// Those that the prelude of a state is written for.
constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "ash"};

// Options that would act on the prelude as well; it sets them last.
constexpr std::string_view kSetLast = "aeuvx";
constexpr std::string_view kOthers = "bfhkmpBCEHPTlc";

bool IsOptionName(std::string_view text) {
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_lower);
}

// One word of options; false where one is not known. `takes_name`: the next word is -o's.
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

}  // namespace native_runner
