#pragma once

#include "launcher/order/mapped_order.h"
#include "launcher/text/refusal.h"

namespace native_runner {

// Looks whether the order's rules of kinds kRuleHidden, kRuleShown and kRuleReadOnly hold: a
// program that was to hide files, or to mount them read-only, may have done so in part. Refuses
// with the layer and the first path that is not as it should be. True where the order has no
// kOrderCheckFiles.
bool CheckFiles(const MappedOrder& order, Refusal* refusal);

}  // namespace native_runner
