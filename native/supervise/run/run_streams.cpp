#include "supervise/run/run_streams.h"

#include <utility>

namespace native_runner {

RunStreams::RunStreams(ExecRequest* request, Chunk on_chunk, LiveProcess::Event on_event)
    : request_(request), on_chunk_(std::move(on_chunk)) {
  if (request->live) {
    live_ = std::make_unique<LiveProcess>(*request->live, request->merge_stderr, on_chunk_,
                                          std::move(on_event));
  }
  out_ = Make(Stream::kStdout);
  err_ = Make(Stream::kStderr);
}

std::unique_ptr<Output> RunStreams::Make(Stream stream) {
  if (live_) return live_->MakeOutput(stream);
  const bool is_out = stream == Stream::kStdout;
  const Limits& limits = request_->limits;
  Capture::Chunk chunk;
  const bool is_merged = request_->merge_stderr;  // then stderr has what a set-up says, no more
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
  return sandbox->SendInput(read.get()) != Control::Sent::kFailed;
}

bool RunStreams::Start(uv_loop_t* loop, Sandbox* sandbox, int null_device) {
  is_started_ = true;
  const bool has_terminal = live_ && live_->has_terminal();  // which takes the place of stdout
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
  out_ = Make(Stream::kStdout);  // what the set-up has said is nobody's output
  err_ = Make(Stream::kStderr);
}

void RunStreams::Finish() {
  feeder_.Stop();
  if (live_) live_->Finish();
  out_->Finish();
  err_->Finish();
}

// What was said before the launcher could merge the two, of a set-up that failed.
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
