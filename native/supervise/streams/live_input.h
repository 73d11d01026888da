#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// What a live process is sent as its input while it runs: into a pipe, or into a terminal's master
// side. SIGPIPE is blocked on the supervisor thread, whose only this is.
class LiveInput {
 public:
  // Called once for each Write and End, when its bytes are with the kernel (true), or when nobody
  // reads them any more (false).
  using News = std::function<void(bool taken)>;

  explicit LiveInput(News news) : news_(std::move(news)) {}

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
  News news_;
};

}  // namespace native_runner
