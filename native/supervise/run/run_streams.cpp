#include "supervise/run/run_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <utility>

namespace native_runner {

Descriptor Terminal::Duplicate() const {
  return Descriptor(fcntl(master_.get(), F_DUPFD_CLOEXEC, 0));
}

void Terminal::Resize(TerminalSize size) const {
  const winsize wanted{size.rows, size.columns, 0, 0};
  ioctl(master_.get(), TIOCSWINSZ, &wanted);  // fails only if the descriptor is no terminal
}

LiveProcess::LiveProcess(const SpawnCall& call, bool merges_stderr, Chunk on_chunk, Event on_event)
    : size_(call.terminal),
      has_stderr_(!call.terminal && !merges_stderr),
      on_chunk_(std::move(on_chunk)),
      on_event_(std::move(on_event)),
      relayed_output_(call.relayed_output),
      input_(
          [this](bool taken) {
            on_event_(taken ? LiveEvent::kInputTaken : LiveEvent::kInputClosed);
          },
          call.relayed_input) {}

std::unique_ptr<Output> LiveProcess::MakeOutput(Stream stream) {
  const bool is_set_up = !has_stderr_ && stream == Stream::kStderr;
  const Stream as = is_set_up ? Stream::kStdout : stream;
  const auto on_chunk = [this, as](const std::uint8_t* data, std::size_t size) {
    on_chunk_(as, data, size);
  };
  if (is_set_up) return std::make_unique<LiveOutput>(LiveOutput::kNoWindow, on_chunk);
  const int sink = stream == Stream::kStdout ? relayed_output_ : -1;
  auto made = std::make_unique<LiveOutput>(LiveOutput::kWindowBytes, on_chunk, sink);
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
  // Sent rather than inherited: processes between us and the launcher would keep it open.
  return sandbox->SendInput(command_input_.get()) != LauncherChannel::Sent::kFailed;
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

RunStreams::RunStreams(ExecRequest* request, Chunk on_chunk, LiveProcess::Event on_event)
    : request_(request), on_chunk_(std::move(on_chunk)) {
  if (const auto* call = std::get_if<SpawnCall>(&request->kind)) {
    live_ =
        std::make_unique<LiveProcess>(*call, request->merge_stderr, on_chunk_, std::move(on_event));
  }
  out_ = Make(Stream::kStdout);
  err_ = Make(Stream::kStderr);
}

std::unique_ptr<Output> RunStreams::Make(Stream stream) {
  if (live_) return live_->MakeOutput(stream);
  const bool is_out = stream == Stream::kStdout;
  const Limits& limits = request_->limits;
  Capture::Chunk chunk;
  const bool is_merged = request_->merge_stderr;  // then stderr has only set-up messages
  if (is_out ? request_->stream_stdout : request_->stream_stderr && !is_merged) {
    chunk = [this, stream](const std::uint8_t* data, std::size_t size) {
      on_chunk_(stream, data, size);
    };
  }
  const std::uint64_t most =
      is_out || is_merged ? limits.max_stdout_bytes : limits.max_stderr_bytes;
  return std::make_unique<Capture>(KeepRuleFor(most, limits.keep), std::move(chunk));
}

std::optional<Error> RunStreams::MakeInput() {
  if (request_->stdin_bytes.empty()) return std::nullopt;
  auto pipe = MakePipe();
  if (!pipe) return pipe.error();
  input_ = std::move(*pipe);
  return std::nullopt;
}

bool RunStreams::SendInput(uv_loop_t* loop, Sandbox* sandbox) {
  if (live_) return live_->SendInput(loop, sandbox);
  if (!input_.read.valid()) return true;
  const Descriptor read = std::move(input_.read);
  return sandbox->SendInput(read.get()) != LauncherChannel::Sent::kFailed;
}

bool RunStreams::Start(uv_loop_t* loop, Sandbox* sandbox, int null_device) {
  is_started_ = true;
  const bool has_terminal = live_ && live_->has_terminal();  // replaces stdout
  return (has_terminal || out_->Start(loop, sandbox->TakeStdout(), null_device)) &&
         err_->Start(loop, sandbox->TakeStderr(), null_device) &&
         (!input_.write.valid() ||
          feeder_.Start(loop, std::move(input_.write), std::move(request_->stdin_bytes)));
}

void RunStreams::Rewind() {
  input_ = {};
  if (!std::exchange(is_started_, false)) return;
  request_->stdin_bytes = feeder_.Recall();
  if (live_) return;
  out_ = Make(Stream::kStdout);  // drops set-up messages: they are not the command's output
  err_ = Make(Stream::kStderr);
}

void RunStreams::Finish() {
  feeder_.Stop();
  if (live_) live_->Finish();
  out_->Finish();
  err_->Finish();
}

// Adds to stdout what a failed set-up wrote to stderr before the launcher could merge the two.
void RunStreams::Merge() {
  const Bytes said = err_->Take();
  out_->Append({reinterpret_cast<const char*>(said.data()), said.size()});
  err_ = std::make_unique<Capture>(KeepRuleFor(0, Keep::kHead), nullptr);
}

void RunStreams::Take(RunResult* result) {
  if (request_->merge_stderr && !live_) Merge();
  result->out = {out_->Take(), out_->total(), out_->truncated()};
  result->err = {err_->Take(), err_->total(), err_->truncated()};
}

}  // namespace native_runner
