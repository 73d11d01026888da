// What JavaScript tells a live process while it runs. A number that is no run's, or of one that has
// ended, is ignored: the end is told by then, and nobody is to blame.

#include <utility>

#include "addon/convert/input/port_wait.h"
#include "addon/convert/input/terminal_size.h"
#include "addon/runners/runner_core.h"
#include "addon/values/value_builder.h"

namespace native_runner {
namespace {

std::uint64_t NumberIn(const Napi::Value& value) {
  return value.IsNumber() ? static_cast<std::uint64_t>(value.As<Napi::Number>().Int64Value()) : 0;
}

Stream StreamIn(const Napi::Value& value) {
  const bool is_err = value.IsString() && value.As<Napi::String>().Utf8Value() == "stderr";
  return is_err ? Stream::kStderr : Stream::kStdout;
}

}  // namespace

void RunnerCore::Write(const Napi::CallbackInfo& info) {
  if (!info[1].IsTypedArray()) return;
  const auto bytes = info[1].As<Napi::Uint8Array>();
  const std::uint8_t* const data = bytes.Data();
  state_->Apply(NumberIn(info[0]), WriteInput{{data, data + bytes.ByteLength()}});
}

void RunnerCore::EndInput(const Napi::CallbackInfo& info) {
  state_->Apply(NumberIn(info[0]), native_runner::EndInput{});
}

void RunnerCore::Grant(const Napi::CallbackInfo& info) {
  state_->Apply(NumberIn(info[0]), GrantOutput{StreamIn(info[1]), NumberIn(info[2])});
}

void RunnerCore::CloseOutput(const Napi::CallbackInfo& info) {
  state_->Apply(NumberIn(info[0]), native_runner::CloseOutput{StreamIn(info[1])});
}

void RunnerCore::Signal(const Napi::CallbackInfo& info) {
  state_->Apply(NumberIn(info[0]), SendSignal{static_cast<int>(NumberIn(info[1]))});
}

void RunnerCore::Resize(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  TerminalSize size;
  Fields::Of(reader, info[1], {"size", "size."},
             [&size](Fields& fields) { size = ReadTerminalSize(fields); });
  if (!reader.failed()) state_->Apply(NumberIn(info[0]), ResizeTerminal{size});
}

Napi::Value RunnerCore::WaitForPort(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Reader reader(env);
  auto wait = ReadPortWait(reader, info[1], info[2]);
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (!wait || napi_create_promise(env, &deferred, &done) != napi_ok) return env.Undefined();
  wait->run = NumberIn(info[0]);
  wait->session = wait->run == 0 ? session() : 0;
  ValueBuilder builder(env);
  const auto id = state_->Submit(*wait, deferred);
  if (!id) napi_resolve_deferred(env, deferred, builder.String("gone"));
  napi_value handle = builder.Object();
  builder.Set(handle, "id", builder.Number(static_cast<double>(id.value_or(0))));
  builder.Set(handle, "done", done);
  return builder.ok() ? Napi::Value(env, handle) : env.Undefined();
}

void RunnerCore::StopWait(const Napi::CallbackInfo& info) {
  state_->StopWait(NumberIn(info[0]));
}

}  // namespace native_runner
