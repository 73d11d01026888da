#pragma once

#include "launcher/order/control.h"
#include "launcher/text/refusal.h"
#include "protocol/order.h"

namespace native_runner {

// Makes a terminal (pty(7)) of the order's size out of the /dev/ptmx that we see, hands its master
// side to the host, and puts its other side in the place of our 0, 1 and 2, which the command
// inherits. False: `refusal` says why there is none.
bool OpenTerminal(const Control& control, const OrderHeader& header, Refusal* refusal);

// Makes the calling process the leader of a session of its own and, with `with_terminal`, what is
// its stdin the terminal of that session. Returns 0 or -errno. For the command's process.
long EnterSession(bool with_terminal);

}  // namespace native_runner
