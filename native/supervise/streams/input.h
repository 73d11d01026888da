#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "supervise/os/descriptor.h"
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

// Writes a command's stdin, then closes it. Stops silently when the reader is gone: a command need
// not read its input. SIGPIPE is blocked on the supervisor thread.
class Feeder {
 public:
  bool Start(uv_loop_t* loop, Descriptor pipe, std::vector<std::uint8_t> bytes);
  void Stop();

  // Stops, and returns all the bytes, including those already written.
  std::vector<std::uint8_t> Recall();

 private:
  bool WriteSome();  // false: finished or failed

  Poll poll_;
  Descriptor pipe_;
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

// A live process' input while it runs: into a pipe, or into a terminal's master side. SIGPIPE is
// blocked on the supervisor thread. Supervisor thread only.
class LiveInput {
 public:
  // Called once for each Write and End: true when the kernel has its bytes, false when the reader
  // is gone.
  using OnTaken = std::function<void(bool taken)>;

  // `source`: a pipe that outlives this, whose bytes are the input in place of Write's, to its end;
  // -1: none.
  explicit LiveInput(OnTaken events, int source = -1)
      : source_(source), on_taken_(std::move(events)) {}

  void Start(uv_loop_t* loop, Descriptor sink);
  // One at a time: call it again only after on_taken.
  void Write(std::vector<std::uint8_t> bytes);
  // Ends a pipe. A terminal stays open: its only end of file is ^D.
  void End();
  // Closes the sink; a pending Write is reported as lost.
  void Stop();

 private:
  enum class Progress { kDone, kBlocked, kGone };
  Progress WriteSome();
  void Continue();

  uv_loop_t* loop_ = nullptr;
  Poll poll_;
  Descriptor sink_;
  PipeRelay relay_;  // from `source_` to `sink_`
  int source_;
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
  OnTaken on_taken_;
};

}  // namespace native_runner
