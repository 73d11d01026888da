#pragma once

#include "launcher/command/renames.h"
#include "launcher/layers/landlock.h"
#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

// Makes the command's terminal, or puts stdout in the place of stderr, which is then ours too: what
// is said of a command that can't be started goes there. If the order wants one. Before kReady.
bool PrepareStreams(const HostChannel& control, const OrderHeader& header, Refusal* refusal);

// Runs the order's command as a child of ours until it has ended, or its lease has, or the host
// wants an end or is gone; ends what is left of its tree, and reports. After all checks, and after
// kReady.
void RunCommand(const HostChannel& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease);

// Where the command is to start. Empty: where we are.
bool EnterDirectory(const char* cwd, Refusal* refusal);

// What is to be done once for all commands of a session. They can be told from one another, and
// ended one by one, only by way of /proc. The filter that the order asks for is installed here: the
// kernel compiles it anew each time, and a fork has it. It allows what we call ourselves.
bool PrepareSession(const OrderHeader& order, Refusal* refusal);

// Runs the commands of a session until the host wants its end or is gone; then ends all of them and
// reports. Each gets a process of its own, often made before there is an order, that does for it
// what a launcher does: takes an order from a control socket of the command's own, runs it as a
// subreaper, ends its tree, reports. So one command's processes can be told from another's. The
// layers were entered by us, once, and come with the fork; `landlock` is entered by each command by
// itself, so that each is a domain of its own. Each is listened to by its own launcher (`overlay`).
void ServeSession(const HostChannel& control, const MappedOrder& session, const Landlock& landlock,
                  const OverlayRenames& overlay, LayerSet enforced);

}  // namespace native_runner
