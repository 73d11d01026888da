#pragma once

#include "launcher/order/control.h"
#include "launcher/order/mapped_order.h"

namespace native_runner {

// Takes the steps of an order with kOrderNamespaces (protocol/step.h). Says on the socket what was
// made, and how it ended: kExited, or kRefused. Does not return where the last step is to execute
// a program and that begins.
void TakeSteps(const Control& control, const MappedOrder& order);

}  // namespace native_runner
