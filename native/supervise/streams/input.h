#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Writes a command's stdin, then closes it. A reader that went away ends the feeding quietly: what
// a command does not read is its own affair. SIGPIPE is blocked on the supervisor thread.
class Feeder {
 public:
  bool Start(uv_loop_t* loop, Descriptor pipe, std::vector<std::uint8_t> bytes);
  void Stop();

  // Stops, and gives all the bytes back, those that were written too.
  std::vector<std::uint8_t> Recall();

 private:
  bool WriteSome();  // false: done, one way or the other

  Poll poll_;
  Descriptor pipe_;
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

// What a live process is sent as its input while it runs: into a pipe, or into a terminal's master
// side. SIGPIPE is blocked on the supervisor thread, whose only this is.
class LiveInput {
 public:
  // Called once for each Write and End, when its bytes are with the kernel (true), or when nobody
  // reads them any more (false).
  using OnTaken = std::function<void(bool taken)>;

  explicit LiveInput(OnTaken events) : on_taken_(std::move(events)) {}

  void Start(uv_loop_t* loop, Descriptor sink);
  // One at a time: the next may be called when the news of this one have come.
  void Write(std::vector<std::uint8_t> bytes);
  // End of file for a pipe. A terminal stays open: it has no such thing but ^D.
  void End();
  // Closes it; what is still to be written is told to be lost.
  void Stop();

 private:
  enum class Progress { kDone, kBlocked, kGone };
  Progress WriteSome();
  void Continue();

  uv_loop_t* loop_ = nullptr;
  Poll poll_;
  Descriptor sink_;
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
  OnTaken on_taken_;
};

}  // namespace native_runner
