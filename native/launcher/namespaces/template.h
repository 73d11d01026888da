#pragma once

#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

// Runs the launcher of a template (kOrderTemplate): bwrap has made the mounts of a policy, and left
// the launcher all capabilities in the user namespace that owns them. Makes a sandbox for each
// request of the host until the host is gone; then the launcher, process 1, ends, and all sandboxes
// with it. Reads only the host's messages. `run`: called in the first process of a clone once it is
// confined, with a control socket, stdin, stdout and stderr of its own, like a newly started
// launcher.
void ServeTemplate(HostChannel& control, const MappedOrder& order, int (*run)(HostChannel&));

}  // namespace native_runner
