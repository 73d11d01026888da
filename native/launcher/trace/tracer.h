#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/observations.h"
#include "launcher/trace/one_processor.h"

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
  // It has ended.
  void OnEnd(pid_t process) { processor_.Forget(process); }
  // None has stopped for as long as `patience_ns`.
  void OnPause() { processor_.LetAllGo(); }
  // How long a pause is to be waited for; -1: none has to be seen.
  long patience_ns() const { return processor_.keeps_any() ? kPatienceNs : -1; }

 private:
  static constexpr long kPatienceNs = 300'000;
  struct Pending {
    pid_t process = 0;
    std::uint32_t program_size = 0;  // 0: not known
    char program[kMostProgramName] = {};
    std::uint32_t call = 0;
    std::uint64_t arguments[6] = {};
  };
  static constexpr std::size_t kPending = 1024;

  Pending* PendingOf(pid_t process) {
    return &pending_[static_cast<std::size_t>(process) % kPending];
  }
  bool OnCall(pid_t process);
  void OnReturn(pid_t process);
  void OnLimit(pid_t process, int signal);
  void LetGo(pid_t process, int call, std::uint64_t of);

  Observations* observations_;
  OneProcessor processor_;
  Pending pending_[kPending] = {};
};

}  // namespace native_runner
