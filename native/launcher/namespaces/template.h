#pragma once

#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

// The launcher of a template (kOrderTemplate): bwrap has made the mounts of a policy, and left us
// all capabilities in the user namespace that owns them. Makes a sandbox for each that the host
// asks for, until the host is gone: then we end, and with us, process 1, all of them. Reads nothing
// but the host's messages. `run`: what the first process of a clone does once it is confined, with
// a control socket, stdin, stdout and stderr of its own, as a launcher that has just been started.
void ServeTemplate(HostChannel& control, const MappedOrder& order, int (*run)(HostChannel&));

}  // namespace native_runner
