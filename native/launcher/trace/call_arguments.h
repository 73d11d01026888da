#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/observations.h"
#include "launcher/trace/traced_calls.h"

namespace native_runner {

// Its name, as proc_pid_comm(5) has it; how many bytes, 0 where /proc does not show it.
std::size_t ReadProgram(pid_t process, char* name, std::size_t size);

// Tells what a call that has failed was for, of a process that is stopped: reads its paths and
// addresses, and makes paths absolute where /proc shows the process.
void ObserveCall(pid_t process, const TracedCall& call, const std::uint64_t (&arguments)[6],
                 Observations::Text program, int error, Observations* observations);

}  // namespace native_runner
