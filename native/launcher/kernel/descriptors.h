#pragma once

namespace native_runner {

// Closes every descriptor above the control socket, whoever left it open, and marks the socket
// close-on-exec: what the launcher opens later is close-on-exec too, so the command is born with
// 0, 1 and 2 alone.
void CloseInheritedDescriptors();

}  // namespace native_runner
