#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

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

}  // namespace native_runner
