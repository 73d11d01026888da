#pragma once

#include "launcher/order/control.h"
#include "launcher/order/mapped_order.h"

namespace native_runner {

// Waits for the order, checks and maps it; `order` points into `received`. False: none came, or it
// was none, which has been said.
bool TakeOrder(Control& control, ReceivedOrder* received, MappedOrder* order);

}  // namespace native_runner
