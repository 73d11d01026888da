#pragma once

#include "protocol/order.h"

namespace native_runner {

// Sets the order's resource limits on the calling process, soft and hard alike, except that CPU
// time has a second between SIGXCPU and SIGKILL. A limit that is stricter already stays. Returns
// nullptr, or the name of the limit that was refused, with the -errno in `result`.
const char* ApplyLimits(const OrderHeader& order, long* result);

}  // namespace native_runner
