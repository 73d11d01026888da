#pragma once

#include "launcher/text/refusal.h"
#include "protocol/order.h"

namespace native_runner {

// Checks that what the order's flags promise is in force, and puts in force what a process can do
// to itself for good: dropping capabilities, no_new_privs, being the subreaper. False: `refusal`
// names the first layer that is missing. The seccomp filter is the command's alone (see command.h).
// Together with no_new_privs, empty capability sets stay empty in the command too, also for uid 0.
bool EnterLayers(const OrderHeader& order, Refusal* refusal);

}  // namespace native_runner
