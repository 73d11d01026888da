#pragma once

namespace native_runner {

// Blocks every signal: neither the terminal nor a command of the same user may end the launcher
// before it has ended the tree. And undoes what was inherited (Node ignores SIGPIPE, for one), so
// that the command, for which all are unblocked, starts with the default actions.
void PrepareSignals();

}  // namespace native_runner
