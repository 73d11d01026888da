#pragma once

#include <optional>

#include "policy/result.h"
#include "supervise/os/workspace.h"

namespace native_runner {

// Whether commands could work on an overlay over this workspace as they do on itself. kUnavailable,
// saying why, where they could not though the kernel would mount it: where another file system is
// mounted inside, which the overlay would not show; and for an ordinary user where the workspace,
// or what lies directly in it, has another owner or group than the user's own, because the kernel
// refuses each write to such a file (EOVERFLOW). Deeper down nothing is looked at: there, the write
// itself fails.
std::optional<Error> CheckOverlay(const Workspace& workspace);

}  // namespace native_runner
