#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/options/request.h"
#include "protocol/order.h"
#include "supervise/os/descriptor.h"
#include "supervise/preparation/run_result.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/input.h"
#include "supervise/streams/output.h"

namespace native_runner {

// What a live process can be told while it runs.
struct WriteInput {
  std::vector<std::uint8_t> bytes;
};
struct EndInput {};
struct GrantOutput {
  Stream stream;
  std::uint64_t bytes;  // that its reader has taken
};
struct CloseOutput {
  Stream stream;  // nobody reads it any more
};
struct SendSignal {
  int signal;
};
struct ResizeTerminal {
  TerminalSize size;
};
using LiveAction =
    std::variant<WriteInput, EndInput, GrantOutput, CloseOutput, SendSignal, ResizeTerminal>;

// And what it tells, besides its output.
enum class LiveEvent {
  kStarted,      // the sandbox is ready, and the command is started now
  kInputTaken,   // of one WriteInput or EndInput: its bytes are with the kernel
  kInputClosed,  // of one of those: nobody reads the input any more
};

// The master side of a terminal that a launcher has made (pty(7)). Each reader and writer gets a
// descriptor of its own. Supervisor thread only.
class Terminal {
 public:
  explicit Terminal(Descriptor master) : master_(std::move(master)) {}

  Descriptor Duplicate() const;  // not valid: no descriptor is left

  // The command's foreground process group gets SIGWINCH when that changes the size.
  void Resize(TerminalSize size) const;

 private:
  Descriptor master_;
};

// What a run of spawn has that one of exec does not: streams that are open while it runs, a
// terminal perhaps, and signals. Supervisor thread only; owned by its Run, which it needs for
// nothing.
class LiveProcess {
 public:
  using Chunk = std::function<void(Stream, const std::uint8_t*, std::size_t)>;
  using Event = std::function<void(LiveEvent)>;

  LiveProcess(const LiveRequest& request, bool merges_stderr, Chunk on_chunk, Event on_event);

  // The command's stdout or stderr; once each. Must outlive this. With a terminal, or where it is
  // merged, stderr is only what a set-up says, and comes out with stdout.
  std::unique_ptr<Output> MakeOutput(Stream stream);

  bool has_terminal() const { return size_.has_value(); }

  // Adds to the order what the launcher is to do.
  void Complete(OrderHeader* order) const;

  // Before the order is sent: gives the launcher the reading end of the command's stdin; called
  // again, another launcher. False: no pipe can be had, or it can't be sent.
  [[nodiscard]] bool SendInput(uv_loop_t* loop, Sandbox* sandbox);

  // With kReady: the terminal is there, if there is one; the command is started now. False: its
  // terminal can't be watched.
  [[nodiscard]] bool Begin(uv_loop_t* loop, Sandbox* sandbox);

  // `sandbox`: of a run that has begun and not ended; else null.
  void Apply(LiveAction action, Sandbox* sandbox);

  // Before the outputs are finished.
  void Finish();

 private:
  void Apply(WriteInput request, Sandbox* sandbox);
  void Apply(EndInput request, Sandbox* sandbox);
  void Apply(GrantOutput request, Sandbox* sandbox);
  void Apply(CloseOutput request, Sandbox* sandbox);
  void Apply(SendSignal request, Sandbox* sandbox);
  void Apply(ResizeTerminal request, Sandbox* sandbox);
  LiveOutput* OutputOf(Stream stream) const { return stream == Stream::kStdout ? out_ : err_; }

  std::optional<TerminalSize> size_;
  bool has_stderr_;
  Chunk on_chunk_;
  Event on_event_;
  LiveInput input_;
  Descriptor command_input_;  // its reading end, until a launcher is sure to go on with it
  std::optional<Terminal> terminal_;
  LiveOutput* out_ = nullptr;
  LiveOutput* err_ = nullptr;
};

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
