#pragma once

#include <sys/types.h>

#include "launcher/command/renames.h"
#include "launcher/layers/landlock.h"
#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"
#include "launcher/trace/observations.h"
#include "launcher/trace/tracer.h"
#include "protocol/order.h"

namespace native_runner {

// Makes a terminal (pty(7)) of the order's size out of the /dev/ptmx that we see, hands its master
// side to the host, and puts its other side in the place of our 0, 1 and 2, which the command
// inherits. False: `refusal` says why there is none.
bool OpenTerminal(const HostChannel& control, const OrderHeader& header, Refusal* refusal);

// Makes the calling process the leader of a session of its own and, with `with_terminal`, what is
// its stdin the terminal of that session. Returns 0 or -errno. For the command's process.
long EnterSession(bool with_terminal);

// Which step between clone(2) and the command failed, and how.
struct StartFailure {
  enum class Step {
    kNone,
    kProcess,
    kSession,
    kLimits,
    kLandlock,
    kSeccomp,
    kRenames,
    kTrace,
    kExec
  };
  Step step = Step::kNone;
  int error = 0;                // errno
  const char* limit = nullptr;  // kLimits: its name
  bool not_found = false;       // kExec: the command does not exist
};

// Starts the command in a process of its own that shares our memory until it execs, as vfork(2)
// would: nothing is copied and failures are told through memory. All that binds the command but not
// the launcher is done there: its session, limits, Landlock, seccomp. `renames`, if there is one,
// listens to it; else `refusals` does, where it can. With a tracer it is traced, and shares no
// memory with us. Returns its pid, or -1 and `failure`.
pid_t StartCommand(const MappedOrder& order, const Landlock& landlock, Renames* renames,
                   Refusals* refusals, Tracer* tracer, StartFailure* failure);

// Tells the host, and where the command itself is at fault also its stderr in the words of a shell
// ("<command>: command not found"), why the command did not start.
void ReportStartFailure(const HostChannel& control, const char* command,
                        const StartFailure& failure);

}  // namespace native_runner
