#pragma once

#include <uv.h>

#include <vector>

#include "supervise/network/sandbox_network.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Gives a network by domain the listeners that a launcher has handed over, all at once and ahead of
// whatever it says of the command, and has it accept. A command whose network is not there would
// not be told from one that is refused everything: the clause says why it is not; nullptr: it is.
const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop);

}  // namespace native_runner
