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

// Actions on a live process while it runs.
struct WriteInput {
  std::vector<std::uint8_t> bytes;
};
struct EndInput {};
struct GrantOutput {
  Stream stream;
  std::uint64_t bytes;  // bytes that the reader has consumed
};
struct CloseOutput {
  Stream stream;  // the reader is gone
};
struct SendSignal {
  int signal;
};
struct ResizeTerminal {
  TerminalSize size;
};
using LiveAction =
    std::variant<WriteInput, EndInput, GrantOutput, CloseOutput, SendSignal, ResizeTerminal>;

// Events of a live process, besides its output.
enum class LiveEvent {
  kStarted,      // the sandbox is ready, and the command starts now
  kInputTaken,   // of one WriteInput or EndInput: the kernel has its bytes
  kInputClosed,  // of one WriteInput or EndInput: the input has no reader any more
};

// The master side of a terminal that a launcher has made (pty(7)). Each reader and writer gets its
// own descriptor. Supervisor thread only.
class Terminal {
 public:
  explicit Terminal(Descriptor master) : master_(std::move(master)) {}

  Descriptor Duplicate() const;  // invalid: no descriptor is left

  // Sets the size; on a change the command's foreground process group gets SIGWINCH.
  void Resize(TerminalSize size) const;

 private:
  Descriptor master_;
};

// The additional parts of a spawn run: streams that are open while it runs, possibly a terminal,
// and signals. Supervisor thread only; owned by its Run, on which it does not depend.
class LiveProcess {
 public:
  using Chunk = std::function<void(Stream, const std::uint8_t*, std::size_t)>;
  using Event = std::function<void(LiveEvent)>;

  LiveProcess(const SpawnCall& call, bool merges_stderr, Chunk on_chunk, Event on_event);

  // Makes the command's stdout or stderr; once each. The result must outlive this. With a terminal,
  // or if merged, stderr carries only set-up messages, and comes out with stdout.
  std::unique_ptr<Output> MakeOutput(Stream stream);

  bool has_terminal() const { return size_.has_value(); }

  // Adds the launcher's part to the order.
  void Complete(OrderHeader* order) const;

  // Gives the launcher the reading end of the command's stdin, before the order is sent; called
  // again, gives it to another launcher. Returns false if no pipe can be made, or sending fails.
  [[nodiscard]] bool SendInput(uv_loop_t* loop, Sandbox* sandbox);

  // Called with kReady, when the terminal exists, if there is one; the command starts now. Returns
  // false if its terminal can't be watched.
  [[nodiscard]] bool Begin(uv_loop_t* loop, Sandbox* sandbox);

  // `sandbox`: of a run that has begun and not ended; else nullptr.
  void Apply(LiveAction action, Sandbox* sandbox);

  // Call before the outputs are finished.
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
  int relayed_output_;
  LiveInput input_;
  Descriptor command_input_;  // its reading end, until a launcher is certain to continue
  std::optional<Terminal> terminal_;
  LiveOutput* out_ = nullptr;
  LiveOutput* err_ = nullptr;
};

// The command's stdin, stdout and stderr: byte buffers, or the streams of a live process.
// Supervisor thread only; owned by its Run.
class RunStreams {
 public:
  using Chunk = std::function<void(Stream, const std::uint8_t*, std::size_t)>;

  // `request` outlives this; Start moves its stdin_bytes away.
  RunStreams(ExecRequest* request, Chunk on_chunk, LiveProcess::Event on_event);

  LiveProcess* live() { return live_.get(); }  // for spawn, else null

  // Makes the stdin pipe if there is input to feed. kSetup if that fails.
  [[nodiscard]] std::optional<Error> MakeInput();
  // Returns its reading end, for the source of the sandbox; invalid without such input.
  Descriptor* input() { return &input_.read; }
  // Sends the launcher the reading end if it is still here, or a live process' stdin. Before the
  // order.
  [[nodiscard]] bool SendInput(uv_loop_t* loop, Sandbox* sandbox);

  // Returns false if the streams can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop, Sandbox* sandbox, int null_device);

  // Restores the state before MakeInput and Start, for another sandbox: no command has read or
  // written yet.
  void Rewind();

  void Finish();

  // Only after Finish.
  void Take(RunResult* result);

  // The first bytes of stderr, kept in any case; and a way to append a line.
  std::string_view opening() const { return err_->opening(); }
  void Append(const std::string& line) { err_->Append(line); }

 private:
  std::unique_ptr<Output> Make(Stream stream);
  void Merge();

  ExecRequest* request_;
  Chunk on_chunk_;
  std::unique_ptr<Output> out_;
  std::unique_ptr<Output> err_;
  std::unique_ptr<LiveProcess> live_;  // below its outputs: destroyed before them
  Feeder feeder_;
  PipeEnds input_;  // until the feeder and the sandbox take its ends
  bool is_started_ = false;
};

}  // namespace native_runner
