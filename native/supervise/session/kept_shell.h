#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "policy/shell/shell_state.h"
#include "supervise/os/descriptor.h"
#include "supervise/preparation/preparation.h"

namespace native_runner {

// What one command is given of a shell's state, and where it leaves what it has.
struct ShellPart {
  std::string prelude;             // what its shell begins with; empty: it is none that has a state
  std::vector<std::string> named;  // the call's own variables, which are not handed on
  std::string directory;           // that of the state, in which it is to start; or empty
  bool hands_on_directory = false;      // the call named none
  std::shared_ptr<ShellReport> report;  // null: the session keeps no shell
};

// The same on its way: a file that begins with what the command is given, and that it writes what
// it leaves behind that.
struct ShellFile {
  Descriptor file;  // or none
  std::size_t given = 0;
  ShellPart part;  // without its prelude

  // kSetup when there can be no file.
  static Result<ShellFile> Make(ShellPart part);
};

// The directory and the variables that pass from one command of a session to the next.
class KeptShell {
 public:
  // Where a command that names no directory starts; empty: in the workspace.
  const std::string& directory() const { return state_.cwd; }

  // Gives a command that is a shell's the state; `plan` gets the arguments that do so.
  ShellPart Enter(const ExecRequest& request, SessionPlan* plan) const;

  // Takes what a command has left, which has come to its own end; its report says what came of it.
  void Adopt(const ShellFile& left);

  // A command could not start in the directory of the state: nor could another.
  void LeaveDirectory(const ShellFile& refused);

 private:
  ShellState state_;
};

}  // namespace native_runner
