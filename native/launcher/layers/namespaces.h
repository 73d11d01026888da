#pragma once

#include "launcher/text/refusal.h"
#include "protocol/order.h"

namespace native_runner {

// Compares our namespaces with the host's, whose numbers are in the order: a program that was to
// make new ones may have failed to, silently (Firejail inside another sandbox does). Refuses with
// the name of the first that we still share.
bool CheckNamespaces(const OrderHeader& order, Refusal* refusal);

}  // namespace native_runner
