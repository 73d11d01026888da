#pragma once

#include "launcher/command/renames.h"
#include "launcher/layers/landlock.h"
#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

// Opens the command's terminal, or replaces stderr by stdout, if the order says so. Both change the
// launcher's own descriptors: messages about a command that can't be started go there. Called
// before kReady.
bool PrepareStreams(const HostChannel& control, const OrderHeader& header, Refusal* refusal);

// Runs the order's command as a child until it or its lease has ended, or the host requests an end
// or is gone; then ends the rest of its tree, and reports. Called after all checks, and after
// kReady.
void RunCommand(const HostChannel& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease);

// Enters the directory in which the command starts. Empty: stays in the current one.
bool EnterDirectory(const char* cwd, Refusal* refusal);

// Prepares a session, once for all its commands. Commands can only be distinguished, and ended one
// by one, through /proc. Installs the filter of the order, which a fork inherits: the kernel
// compiles it on each installation. The filter allows the launcher's own calls.
bool PrepareSession(const OrderHeader& order, Refusal* refusal);

// Runs the commands of a session until the host requests its end or is gone; then ends all of them
// and reports. Each command has a launcher process of its own, often made before the order arrives:
// it takes an order from the command's own control socket, runs it as a subreaper, ends its tree,
// and reports. This keeps the processes of different commands apart. The session's launcher has
// entered the layers once, and forks inherit them; each command enters `landlock` by itself, so
// that each is a domain of its own. Each command's own launcher listens to its calls (`overlay`).
void ServeSession(const HostChannel& control, const MappedOrder& session, const Landlock& landlock,
                  const OverlayRenames& overlay, LayerSet enforced);

}  // namespace native_runner
