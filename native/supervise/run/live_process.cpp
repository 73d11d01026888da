#include "supervise/run/live_process.h"

#include <utility>

namespace native_runner {

LiveProcess::LiveProcess(const LiveRequest& request, bool merges_stderr, Chunk on_chunk,
                         Event on_event)
    : size_(request.terminal),
      has_stderr_(!request.terminal && !merges_stderr),
      on_chunk_(std::move(on_chunk)),
      on_event_(std::move(on_event)),
      input_([this](bool taken) {
        on_event_(taken ? LiveEvent::kInputTaken : LiveEvent::kInputClosed);
      }) {}

std::unique_ptr<Output> LiveProcess::MakeOutput(Stream stream) {
  const bool is_set_up = !has_stderr_ && stream == Stream::kStderr;
  const Stream as = is_set_up ? Stream::kStdout : stream;
  const auto on_chunk = [this, as](const std::uint8_t* data, std::size_t size) {
    on_chunk_(as, data, size);
  };
  if (is_set_up) return std::make_unique<LiveOutput>(LiveOutput::kNoWindow, on_chunk);
  auto made = std::make_unique<LiveOutput>(LiveOutput::kWindowBytes, on_chunk);
  (stream == Stream::kStdout ? out_ : err_) = made.get();
  return made;
}

void LiveProcess::Complete(OrderHeader* order) const {
  order->flags |= kOrderOwnSession;
  if (!size_) return;
  order->flags |= kOrderTerminal;
  order->terminal_columns = size_->columns;
  order->terminal_rows = size_->rows;
}

bool LiveProcess::SendInput(uv_loop_t* loop, Sandbox* sandbox) {
  if (has_terminal()) return true;
  if (!command_input_.valid()) {
    auto pipe = MakePipe();
    if (!pipe) return false;
    input_.Start(loop, std::move(pipe->write));
    command_input_ = std::move(pipe->read);
  }
  // Sent rather than inherited: whatever stands between us and the launcher would keep it open.
  return sandbox->SendInput(command_input_.get()) != Control::Sent::kFailed;
}

bool LiveProcess::Begin(uv_loop_t* loop, Sandbox* sandbox) {
  command_input_.Close();
  if (has_terminal()) {
    terminal_.emplace(sandbox->TakeTerminal());
    Descriptor reads = terminal_->Duplicate();
    Descriptor writes = terminal_->Duplicate();
    if (!reads.valid() || !writes.valid()) return false;
    input_.Start(loop, std::move(writes));
    if (!out_->Start(loop, std::move(reads), -1)) return false;
  }
  on_event_(LiveEvent::kStarted);
  return true;
}

void LiveProcess::Apply(LiveAction action, Sandbox* sandbox) {
  std::visit([&](auto& one) { Apply(std::move(one), sandbox); }, action);
}

void LiveProcess::Apply(WriteInput request, Sandbox* /*sandbox*/) {
  input_.Write(std::move(request.bytes));
}

void LiveProcess::Apply(EndInput /*request*/, Sandbox* /*sandbox*/) {
  input_.End();
}

void LiveProcess::Apply(GrantOutput request, Sandbox* /*sandbox*/) {
  if (LiveOutput* output = OutputOf(request.stream)) output->Grant(request.bytes);
}

void LiveProcess::Apply(CloseOutput request, Sandbox* /*sandbox*/) {
  if (LiveOutput* output = OutputOf(request.stream)) output->Close();
}

void LiveProcess::Apply(SendSignal request, Sandbox* sandbox) {
  if (sandbox != nullptr) sandbox->SendSignal(request.signal);
}

void LiveProcess::Apply(ResizeTerminal request, Sandbox* /*sandbox*/) {
  if (terminal_) terminal_->Resize(request.size);
}

void LiveProcess::Finish() {
  command_input_.Close();
  input_.Stop();
  terminal_.reset();
}

}  // namespace native_runner
