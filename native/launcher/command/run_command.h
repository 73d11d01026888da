#pragma once

#include "launcher/layers/landlock.h"
#include "launcher/order/control.h"
#include "launcher/order/lease_timer.h"
#include "launcher/order/mapped_order.h"
#include "launcher/renames/renames.h"

namespace native_runner {

// Makes the command's terminal, or puts stdout in the place of stderr, which is then ours too: what
// is said of a command that can't be started goes there. If the order wants one. Before kReady.
bool PrepareStreams(const Control& control, const OrderHeader& header, Refusal* refusal);

// Runs the order's command as a child of ours until it has ended, or its lease has, or the host
// wants an end or is gone; ends what is left of its tree, and reports. After all checks, and after
// kReady.
void RunCommand(const Control& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease);

// Where the command is to start. Empty: where we are.
bool EnterDirectory(const char* cwd, Refusal* refusal);

}  // namespace native_runner
