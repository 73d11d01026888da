#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>

#include "supervise/os/handle.h"

namespace native_runner {

// Moves the bytes of one pipe into another with splice(2): they are never copied, and a full sink
// holds the source's writers up as if both were one pipe. SIGPIPE is blocked on the supervisor
// thread. Supervisor thread only.
class PipeRelay {
 public:
  enum class End {
    kSource,  // the source has no writer any more, and all its bytes are in the sink
    kSink,    // the sink has no reader any more
    kFailed,  // the kernel can't move or watch them; the source has what was not moved
  };
  using OnEnd = std::function<void(End)>;

  // Both descriptors are owned elsewhere and stay open until Stop or the call of `on_end`, which
  // comes once, possibly from within Start. A further Start takes the place of the one before.
  void Start(uv_loop_t* loop, int source, int sink, OnEnd on_end);
  void Stop();

  std::uint64_t total() const { return total_; }  // bytes moved

 private:
  void Continue();
  void Wait(int descriptor, int events);
  bool SourceHasBytes() const;

  uv_loop_t* loop_ = nullptr;
  Poll poll_;
  int source_ = -1;
  int sink_ = -1;
  int awaited_ = -1;  // of the two, the one that is watched; -1: none
  std::uint64_t total_ = 0;
  OnEnd on_end_;
};

}  // namespace native_runner
