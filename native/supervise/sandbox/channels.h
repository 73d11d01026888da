#pragma once

#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/sandbox/control.h"

namespace native_runner {

// What joins a sandbox with us: the control socket, whose other end is to be the launcher's, and
// the pipes of the command's stdout and stderr.
struct Channels {
  Control control;
  Descriptor peer;
  PipeEnds out;
  PipeEnds err;

  // kSetup names the system call that failed.
  static Result<Channels> Open();
};

}  // namespace native_runner
