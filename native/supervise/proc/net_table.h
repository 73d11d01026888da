#pragma once

#include <cstdint>

#include "policy/result.h"

namespace native_runner {

// Whether something listens on a TCP port, IPv4 or IPv6, in the network namespace of a process. The
// kernel's table tells it, so nobody connects. An error where that table can't be read; false where
// that is because the process has begun to end.
Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port);

}  // namespace native_runner
