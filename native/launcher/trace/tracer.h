#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "launcher/trace/observations.h"

namespace native_runner {

// Keeps processes that stop again and again on the tracer's own processor, and the tracer on it: to
// wake one on another processor takes five times as long as to make way for it here. Each is let go
// again when it has not stopped for a while, so that those which compute run side by side, and
// before it can see what was done to it (sched_getaffinity(2)). Once one of them chooses
// processors itself, none is kept any more.
class OneProcessor {
 public:
  // It has stopped, and is to go on.
  void Keep(pid_t process);
  // It was made by one that may have been kept, and has what that had.
  void KeepChild(pid_t process);
  // It has ended.
  void Forget(pid_t process);

  // It asks on which processors it, or another, may run.
  void LetGo(pid_t process);
  void LetAllGo();
  // It chooses them.
  void StopKeeping();

  // Whether any is kept, so that LetAllGo should follow a pause.
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
  std::size_t set_size_ = 0;                // of both sets, as the kernel counts; 0: not known yet
  std::uint64_t all_[kSetBytes / 8] = {};   // where we, and they, may run
  std::uint64_t here_[kSetBytes / 8] = {};  // the one
};

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
