#pragma once

#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

// Empties the bounding, ambient and ordinary capability sets (capabilities(7)). What can't be
// dropped shows in CheckNoCapabilities.
void DropCapabilities();

// Refuses with "no-capabilities" unless the effective, permitted and inheritable sets are empty.
bool CheckNoCapabilities(Refusal* refusal);

// Looks whether the order's rules of kinds kRuleHidden, kRuleShown and kRuleReadOnly hold: a
// program that was to hide files, or to mount them read-only, may have done so in part. Refuses
// with the layer and the first path that is not as it should be. True where the order has no
// kOrderCheckFiles.
bool CheckFiles(const MappedOrder& order, Refusal* refusal);

// Sets the order's resource limits on the calling process, soft and hard alike, except that CPU
// time has a second between SIGXCPU and SIGKILL. A limit that is stricter already stays. Returns
// nullptr, or the name of the limit that was refused, with the -errno in `result`.
const char* ApplyLimits(const OrderHeader& order, long* result);

// Checks that what the order's flags promise is in force, and puts in force what a process can do
// to itself for good: dropping capabilities, no_new_privs, being the subreaper. False: `refusal`
// names the first layer that is missing. The seccomp filter is the command's alone (see command.h).
// Together with no_new_privs, empty capability sets stay empty in the command too, also for uid 0.
bool EnterLayers(const OrderHeader& order, Refusal* refusal);

}  // namespace native_runner
