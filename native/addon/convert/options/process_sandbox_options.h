#pragma once

#include "addon/convert/fields.h"
#include "policy/bubblewrap/process_sandbox.h"

namespace native_runner {

// The options of createBubblewrapProcessSandbox, and a command for its wrap(). What comes back
// after a fault is not to be used.
ProcessSandboxPolicy ReadProcessSandboxPolicy(Fields& options);
ProcessCommand ReadProcessCommand(Fields& command);

}  // namespace native_runner
