#include "supervise/session/kept_shell.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/shell/shell_call.h"

namespace native_runner {
namespace {

std::vector<std::string> WithDirectory(std::vector<std::string> environment,
                                       const std::string& cwd) {
  for (std::string& variable : environment) {
    if (variable.starts_with("PWD=")) variable = "PWD=" + cwd;
  }
  return environment;
}

// What a command has left behind what it was given; empty where it can't be read.
std::string Written(const ShellFile& left) {
  const off_t before = static_cast<off_t>(left.given);
  const off_t size = lseek(left.file.get(), 0, SEEK_END);
  if (size <= before) return {};
  // One byte more than may be kept shows that it is too much.
  const auto kept = std::min(static_cast<std::size_t>(size - before), kMostShellState + 1);
  std::string written(kept, '\0');
  const ssize_t got = pread(left.file.get(), written.data(), kept, before);
  written.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return written;
}

}  // namespace

Result<ShellFile> ShellFile::Make(ShellPart part) {
  ShellFile made;
  const std::string prelude = std::move(part.prelude);
  made.part = std::move(part);
  if (prelude.empty()) return made;
  auto file = MemoryFile("state", prelude.data(), prelude.size(), false);
  if (!file) return file.error();
  made.file = std::move(*file);
  made.given = prelude.size();
  return made;
}

ShellPart KeptShell::Enter(const ExecRequest& request, SessionPlan* plan) const {
  ShellPart part;
  part.report = std::make_shared<ShellReport>();
  plan->shell = part.report;
  part.hands_on_directory = request.cwd.empty();
  if (part.hands_on_directory && !state_.cwd.empty()) {
    part.directory = state_.cwd;
    plan->environment = WithDirectory(request.environment, state_.cwd);
  }
  if (IsShellCommand(request.argv)) {
    part.named = request.named_environment;
    ShellCommand command = WithShellState(request.argv, part.named, state_);
    plan->argv = std::move(command.argv);
    part.prelude = std::move(command.prelude);
  }
  return part;
}

void KeptShell::Adopt(const ShellFile& left) {
  std::string directory = state_.cwd;
  const auto lost = ReadShellState(Written(left), left.part.named, &state_);
  left.part.report->state = lost ? ShellReport::State::kLost : ShellReport::State::kKept;
  if (lost) left.part.report->reason = *lost;
  if (!lost && !left.part.hands_on_directory) state_.cwd = std::move(directory);
}

void KeptShell::LeaveDirectory(const ShellFile& refused) {
  refused.part.report->lost_directory = refused.part.directory;
  if (state_.cwd == refused.part.directory) state_.cwd.clear();
}

}  // namespace native_runner
