#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/streams/pipe_relay.h"

namespace native_runner {

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
