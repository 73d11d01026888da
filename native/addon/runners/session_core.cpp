#include "addon/runners/session_core.h"

#include <utility>

#include "addon/values/value_builder.h"

namespace native_runner {
namespace {

RunnerCore::Options With(std::shared_ptr<const Runtime> runtime, RunnerCore::Options options) {
  options.runtime = std::move(runtime);
  return options;
}

}  // namespace

SessionCore::SessionCore(EnvironmentState* state, std::shared_ptr<const SessionRuntime> runtime,
                         Options options)
    : RunnerCore(state, With(runtime, std::move(options))),
      back_reference_(state->back_reference()),
      runtime_(std::move(runtime)),
      session_(state->NewSession()) {}

SessionCore::~SessionCore() {
  if (*back_reference_ != nullptr) (*back_reference_)->CloseSession(session_);
}

Napi::Value SessionCore::Open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SessionPromises promises;
  napi_value opened = nullptr;
  napi_value ended = nullptr;
  if (napi_create_promise(env, &promises.opened, &opened) != napi_ok ||
      napi_create_promise(env, &promises.ended, &ended) != napi_ok ||
      !state().OpenSession(session_, runtime_, promises)) {
    return env.Undefined();
  }
  ValueBuilder builder(env);
  napi_value both = builder.Object();
  builder.Set(both, "opened", opened);
  builder.Set(both, "ended", ended);
  return builder.ok() ? Napi::Value(env, both) : env.Undefined();
}

Napi::Value SessionCore::Close(const Napi::CallbackInfo& info) {
  state().CloseSession(session_);
  return RunnerCore::Close(info);
}

}  // namespace native_runner
