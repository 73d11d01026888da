#pragma once

#include "addon/convert/fields.h"
#include "supervise/session/session.h"

namespace native_runner {

// What openSession was given: idleTimeoutMs (> 0, Infinity; default 5 minutes), maxCommands and
// tmpBytes (integers >= 1), shell (a boolean).
SessionRule ReadSessionRule(Fields& options);

}  // namespace native_runner
