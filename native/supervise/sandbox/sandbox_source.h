#pragma once

#include <memory>
#include <string>

#include "policy/result.h"
#include "protocol/order.h"
#include "supervise/os/descriptor.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/sandbox/sandbox_start.h"

namespace native_runner {

// Where a run's sandbox comes from: one is spawned, one was made ahead, or a session has a place.
// Asked once, on the supervisor thread.
class SandboxSource {
 public:
  SandboxSource() = default;
  virtual ~SandboxSource() = default;
  SandboxSource(const SandboxSource&) = delete;
  SandboxSource& operator=(const SandboxSource&) = delete;

  // A sandbox for one command, to be watched next; or why there is none. Takes `input`, the reading
  // end of the command's stdin, where a sandbox is born with it: what is left of it is to be sent.
  virtual Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input) = 0;

  // Adds to the order of a command what its launcher is to check besides; before Acquire, which
  // then makes a sandbox for that order.
  virtual void Complete(OrderHeader* /*order*/) {}

  // Where the sandbox of Acquire came from. kPrewarmed: it was made before its run, and may have
  // died, or may yet fail its set-up, for reasons that are not the run's.
  virtual SandboxStart start() const { return SandboxStart::kCold; }

  // Why it is cold, where it might have been a clone; else empty.
  virtual std::string cold_reason() const { return {}; }
};

}  // namespace native_runner
