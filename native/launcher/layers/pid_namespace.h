#pragma once

#include "launcher/order/mapped_order.h"

namespace native_runner {

// Goes on with `inside` as pid 1 of a new pid (and IPC) namespace, so that the end of the run is
// the kernel's work. Uid 0 needs nothing else; anyone else gets a user namespace with it, in which
// the user stays who he is. Returns true when that was done, `inside` has ended and all is over;
// false when no such namespace may be made here, or none with the /proc that a session needs, and
// nothing was done.
bool RunInPidNamespace(MappedOrder& order, int (*inside)(MappedOrder&));

}  // namespace native_runner
