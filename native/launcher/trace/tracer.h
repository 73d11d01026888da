#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "launcher/trace/observations.h"

namespace native_runner {

// Keeps processes that stop again and again on the tracer's own processor, and the tracer on it:
// waking one on another processor takes five times as long as switching to it here. Each is
// released when it has not stopped for a while, so that computing processes run side by side, and
// before it can see the change (sched_getaffinity(2)). Once one of them chooses processors itself,
// none is kept any more.
class OneProcessor {
 public:
  // The process has stopped and will be resumed.
  void Keep(pid_t process);
  // The process was made by one that may be kept, and has inherited its processors.
  void KeepChild(pid_t process);
  // The process has ended.
  void Forget(pid_t process);

  // The process asks on which processors it, or another one, may run.
  void LetGo(pid_t process);
  void LetAllGo();
  // A process chooses its processors.
  void StopKeeping();

  // True if any process is kept, so that LetAllGo() should follow a pause.
  bool keeps_any() const { return count_ > 0; }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr unsigned kTurn = 256;  // stops
  static constexpr std::size_t kSetBytes = 1024;
  struct Kept {
    pid_t process = 0;
    unsigned turn = 0;
  };

  bool Begin();
  Kept* Find(pid_t process);
  void Add(pid_t process);
  void Remove(Kept* kept);
  void LetGo(Kept* kept);

  bool is_off_ = false;
  std::size_t count_ = 0;
  Kept kept_[kMost] = {};
  unsigned stops_ = 0;
  unsigned turn_ = 0;
  std::size_t set_size_ = 0;                // of both sets, as the kernel counts; 0: unknown
  std::uint64_t all_[kSetBytes / 8] = {};   // allowed to the tracer and the traced
  std::uint64_t here_[kSetBytes / 8] = {};  // the tracer's own
};

// Traces a command's tree, and records those calls of kTracedCalls that fail in a way that
// indicates a refusal. Everything else behaves as if untraced.
class Tracer {
 public:
  constexpr explicit Tracer(Observations* observations) : observations_(observations) {}

  // Traces the process and, from here on, its descendants. Returns 0 or -errno.
  static long Seize(pid_t process);

  // Looks at a stopped process, with its status of waitpid(2), and resumes it. True: it has just
  // executed a program and is not resumed; reported only until NoteStarted().
  bool OnStop(pid_t process, int status);

  // The command's process has executed its program.
  static void NoteStarted(pid_t process);
  // The process has ended.
  void OnEnd(pid_t process) { processor_.Forget(process); }
  // No process has stopped for `patience_ns`.
  void OnPause() { processor_.LetAllGo(); }
  // Length of a pause before OnPause(), in nanoseconds; -1 if no pause needs to be noticed.
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

// The handshake by which a process that shares no memory with the launcher becomes traced before it
// executes a program. It must be dumpable for that, which no process that shares the launcher's
// memory may be. Lives in memory that both processes see.
class TracedStart {
 public:
  // Called in the new process: waits until it is traced.
  void WaitForTracer();

  // Called in its parent: waits until the new process is dumpable, and traces it. Returns 0 or
  // -errno.
  long Attach(pid_t process);

  // Resumes the process up to its program. True once it has executed one; false if it has ended, or
  // is about to, instead. The caller waits for that end.
  static bool Follow(pid_t process, Tracer* tracer);

 private:
  void Tell(std::uint32_t stage);
  void Await(std::uint32_t stage);

  std::uint32_t stage_ = 0;
};

}  // namespace native_runner
