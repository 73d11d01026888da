#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/observations.h"

namespace native_runner {

// Traces a command's tree: of the calls of kTracedCalls, those that fail in a way that tells of a
// refusal are observed. All else goes on as if nobody traced it.
class Tracer {
 public:
  constexpr explicit Tracer(Observations* observations) : observations_(observations) {}

  // From here on, its descendants too. Returns 0 or -errno.
  static long Seize(pid_t process);

  // What waitpid(2) said of a process that is stopped: looks, and lets it go on. True: it has just
  // executed a program, which is told up to NoteStarted().
  bool OnStop(pid_t process, int status);

  // The command's process has executed it.
  static void NoteStarted(pid_t process);

 private:
  struct Pending {
    pid_t process = 0;
    std::uint32_t call = 0;
    std::uint64_t arguments[6] = {};
  };
  static constexpr std::size_t kPending = 1024;

  Pending* PendingOf(pid_t process) {
    return &pending_[static_cast<std::size_t>(process) % kPending];
  }
  void OnCall(pid_t process);
  void OnReturn(pid_t process);

  Observations* observations_;
  Pending pending_[kPending] = {};
};

}  // namespace native_runner
