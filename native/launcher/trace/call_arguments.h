#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/observations.h"
#include "launcher/trace/traced_calls.h"

namespace native_runner {

// Tells what a call that has failed was for, of a process that is stopped: reads its paths and
// addresses, and makes paths absolute where /proc shows the process.
void ObserveCall(pid_t process, const TracedCall& call, const std::uint64_t (&arguments)[6],
                 int error, Observations* observations);

}  // namespace native_runner
