#include "supervise/session/kept_shell.h"

#include <unistd.h>

#include <utility>
#include <vector>

namespace native_runner {
namespace {

std::vector<std::string> WithDirectory(std::vector<std::string> environment,
                                       const std::string& cwd) {
  for (std::string& variable : environment) {
    if (variable.starts_with("PWD=")) variable = "PWD=" + cwd;
  }
  return environment;
}

}  // namespace

Result<ShellFile> ShellFile::Make(const ShellPart& part) {
  ShellFile made;
  made.is_in_its_directory = part.is_in_its_directory;
  if (part.prelude.empty()) return made;
  auto file = MemoryFile("state", part.prelude.data(), part.prelude.size(), false);
  if (!file) return file.error();
  made.file = std::move(*file);
  made.given = part.prelude.size();
  return made;
}

ShellPart KeptShell::Enter(const ExecRequest& request, SessionPlan* plan) const {
  ShellPart part;
  part.is_in_its_directory = request.cwd.empty();
  if (part.is_in_its_directory && !state_.cwd.empty()) {
    plan->environment = WithDirectory(request.environment, state_.cwd);
  }
  if (IsShellCommand(request.argv)) {
    ShellCommand command = WithShellState(request.argv, request.named_environment, state_);
    plan->argv = std::move(command.argv);
    part.prelude = std::move(command.prelude);
  }
  return part;
}

void KeptShell::Adopt(const ShellFile& left) {
  const off_t before = static_cast<off_t>(left.given);
  const off_t size = lseek(left.file.get(), 0, SEEK_END);
  if (size <= before || static_cast<std::size_t>(size - before) > kMostShellState) return;
  std::string written(static_cast<std::size_t>(size - before), '\0');
  if (pread(left.file.get(), written.data(), written.size(), before) != size - before) return;
  std::string cwd = state_.cwd;
  if (ReadShellState(written, &state_) && !left.is_in_its_directory) state_.cwd = std::move(cwd);
}

}  // namespace native_runner
