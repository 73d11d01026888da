#pragma once

#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

// Empties the bounding, ambient and ordinary capability sets (capabilities(7)).
// CheckNoCapabilities() detects capabilities that could not be dropped.
void DropCapabilities();

// Refuses with "no-capabilities" unless the effective, permitted and inheritable sets are empty.
bool CheckNoCapabilities(Refusal* refusal);

// Checks the order's rules of kinds kRuleHidden, kRuleShown and kRuleReadOnly: a program that
// should have hidden files, or mounted them read-only, may have done so in part. Refuses with the
// layer and the first path that breaks its rule. True if the order has no kOrderCheckFiles.
bool CheckFiles(const MappedOrder& order, Refusal* refusal);

// Sets the order's resource limits on the calling process, soft and hard alike, except that CPU
// time has a second between SIGXCPU and SIGKILL. A limit that is already stricter stays. Returns
// nullptr, or the name of the refused limit with the -errno in `result`.
const char* ApplyLimits(const OrderHeader& order, long* result);

// Checks that the order's flags hold, and applies the layers that a process puts on itself for
// good: drops capabilities, sets no_new_privs, becomes the subreaper. False: `refusal` names the
// first missing layer. The seccomp filter is the command's alone (see command.h). Together with
// no_new_privs, empty capability sets stay empty in the command too, also for uid 0.
bool EnterLayers(const OrderHeader& order, Refusal* refusal);

}  // namespace native_runner
