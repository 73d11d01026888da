#pragma once

#include <sys/types.h>

#include "launcher/layers/landlock.h"
#include "launcher/order/mapped_order.h"
#include "launcher/renames/renames.h"
#include "launcher/trace/refusals.h"
#include "launcher/trace/tracer.h"

namespace native_runner {

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

}  // namespace native_runner
