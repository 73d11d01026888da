#pragma once

#include <optional>

#include "policy/result.h"
#include "protocol/order.h"

namespace native_runner {

// Has the launcher refuse to run a command in the network namespace that we are in. kSetup
// where we can't tell which that is.
std::optional<Error> OrderOwnNetwork(OrderHeader* order);

}  // namespace native_runner
