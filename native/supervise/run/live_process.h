#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "policy/options/request.h"
#include "protocol/order.h"
#include "supervise/run/terminal.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/live_action.h"
#include "supervise/streams/live_input.h"
#include "supervise/streams/live_output.h"

namespace native_runner {

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

}  // namespace native_runner
