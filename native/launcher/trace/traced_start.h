#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/tracer.h"

namespace native_runner {

// How a process that shares no memory with us comes to be traced before it executes a program: it
// must be dumpable for that, which nobody may be who shares ours. In memory that both see.
class TracedStart {
 public:
  // In the new process: waits until it is traced.
  void WaitForTracer();

  // In its parent: waits for that, and traces it. Returns 0 or -errno.
  long Attach(pid_t process);

  // Lets it go on up to its program: true once it has executed one, false where it has ended, or is
  // about to, instead. That is left to be waited for.
  static bool Follow(pid_t process, Tracer* tracer);

 private:
  void Tell(std::uint32_t stage);
  void Await(std::uint32_t stage);

  std::uint32_t stage_ = 0;
};

}  // namespace native_runner
