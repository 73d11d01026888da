#pragma once

#include "policy/network/address/ip_address.h"

namespace native_runner {

// Whether a connection to the address would stay on this machine: the kernel's routing tables say
// so (rtnetlink(7), RTM_GETROUTE), also of addresses that have come since we started. True where
// they can't be asked. Doesn't wait. Any thread.
bool LeadsToThisMachine(const IpAddress& address);

}  // namespace native_runner
