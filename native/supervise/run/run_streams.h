#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policy/options/request.h"
#include "supervise/preparation/run_result.h"
#include "supervise/run/live_process.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/capture.h"
#include "supervise/streams/feeder.h"
#include "supervise/streams/stream.h"

namespace native_runner {

// The command's stdin, stdout and stderr as its run has them: from bytes and into bytes, or as a
// live process'. Supervisor thread only; owned by its Run.
class RunStreams {
 public:
  using Chunk = std::function<void(Stream, const std::uint8_t*, std::size_t)>;

  // `request` outlives it; its stdin_bytes are moved away when they are fed.
  RunStreams(ExecRequest* request, Chunk on_chunk, LiveProcess::Event on_event);

  LiveProcess* live() { return live_.get(); }  // of spawn, else null

  // Makes the pipe of a stdin that is to be fed, if it is. kSetup when none can be had.
  [[nodiscard]] std::optional<Error> MakeInput();
  // Its reading end, for who makes the sandbox; not valid where there is no such stdin.
  Descriptor* input() { return &input_.read; }
  // Sends the launcher what has become of that, or a live process' stdin. Before the order.
  [[nodiscard]] bool SendInput(uv_loop_t* loop, Sandbox* sandbox);

  // False: they can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop, Sandbox* sandbox, int null_device);

  // As before MakeInput and Start, for another sandbox: nothing was read or written by a command.
  void Rewind();

  void Finish();

  // After Finish.
  void Take(RunResult* result);

  // What was said on stderr first, whatever is kept of it; and a line more.
  std::string_view opening() const { return err_->opening(); }
  void Append(const std::string& line) { err_->Append(line); }

 private:
  std::unique_ptr<Output> Make(Stream stream);
  void Merge();

  ExecRequest* request_;
  Chunk on_chunk_;
  std::unique_ptr<Output> out_;
  std::unique_ptr<Output> err_;
  std::unique_ptr<LiveProcess> live_;  // below its outputs
  Feeder feeder_;
  PipeEnds input_;  // until the feeder and the sandbox have its ends
  bool is_started_ = false;
};

}  // namespace native_runner
