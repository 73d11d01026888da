#pragma once

namespace native_runner {

struct ExecFailure {
  int error = 0;           // errno
  bool not_found = false;  // the command does not exist, as against: it can't be run
};

// Becomes the command argv[0], found as execvp(3) would, but along the PATH of `environment`: that
// of the command, not ours. Returns only on failure. `argv[-1]` must be a spare entry, see
// MappedOrder. Runs between clone and exec in memory that is shared with the launcher.
ExecFailure Exec(char** argv, char** environment);

}  // namespace native_runner
