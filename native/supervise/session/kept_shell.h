#pragma once

#include <cstddef>
#include <string>

#include "policy/options/request.h"
#include "policy/result.h"
#include "policy/shell/shell_state.h"
#include "supervise/os/descriptor.h"
#include "supervise/preparation/preparation.h"

namespace native_runner {

// What one command is given of a shell's state, and leaves of it.
struct ShellPart {
  std::string prelude;               // what its shell begins with; empty: it is none that has one
  bool is_in_its_directory = false;  // that of the state: the call named none
};

// The same on its way: a file that begins with what the command is given, and that it writes what
// it leaves behind that.
struct ShellFile {
  Descriptor file;  // or none
  std::size_t given = 0;
  bool is_in_its_directory = false;

  // kSetup when there can be no file.
  static Result<ShellFile> Make(const ShellPart& part);
};

// The directory and the variables that pass from one command of a session to the next.
class KeptShell {
 public:
  // Where a command that names no directory starts; empty: in the workspace.
  const std::string& directory() const { return state_.cwd; }

  // Gives a command that is a shell's the state; `plan` gets the arguments that do so.
  ShellPart Enter(const ExecRequest& request, SessionPlan* plan) const;

  // Takes what a command has left, if it is whole.
  void Adopt(const ShellFile& left);

  // It is none to start in any more.
  void LeaveDirectory() { state_.cwd.clear(); }

 private:
  ShellState state_;
};

}  // namespace native_runner
