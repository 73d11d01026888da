#include "addon/runners/runner_core.h"

#include <utility>

#include "addon/runners/lease_object.h"
#include "addon/values/value_builder.h"

namespace native_runner {

RunnerCore::RunnerCore(EnvironmentState* state, Options options)
    : state_(state),
      back_reference_(state->back_reference()),
      runtime_(std::move(options.runtime)),
      rules_(options.rules),
      policy_text_(std::move(options.policy_text)),
      pool_(state, runtime_, options.pool),
      asker_(options.asker) {
  rules_.host = &host_environment_;
  if (options.max_concurrent) lane_ = state_->NewLane(*options.max_concurrent);
}

RunnerCore::~RunnerCore() {
  if (*back_reference_ != nullptr) (*back_reference_)->askers().Remove(asker_);
}

Napi::Value RunnerCore::Submit(const Napi::CallbackInfo& info, Use use) {
  const Napi::Env env = info.Env();
  Reader reader(env);
  RunContext context;
  Fields::Of(reader, info[1], {"context", "context."},
             [&context](Fields& fields) { context = ReadRunContext(fields); });
  RunInput input;
  Fields::Of(reader, info[0], {"input", ""}, [&](Fields& fields) {
    input = use == Use::kSpawn ? ReadSpawnInput(fields, context, rules_)
                               : ReadExecInput(fields, context, rules_);
    input.request.lease = ReadLease(fields);
  });
  if (reader.failed()) return env.Undefined();
  const bool plan_only = use == Use::kExplain;
  input.request.plan_only = plan_only;

  PendingRun pending;
  pending.policy_hash = std::move(context.policy_hash);
  if (input.on_stdout) pending.on_stdout = Napi::Persistent(*input.on_stdout);
  if (input.on_stderr) pending.on_stderr = Napi::Persistent(*input.on_stderr);
  if (context.on_connection) {
    pending.on_connection = Napi::Persistent(*context.on_connection);
    input.request.tells_connections = true;
  }
  if (input.on_event) pending.on_event = Napi::Persistent(*input.on_event);
  napi_value done = nullptr;
  if (napi_create_promise(env, &pending.deferred, &done) != napi_ok) return env.Undefined();
  ValueBuilder builder(env);
  napi_value handle = builder.Object();
  builder.Set(handle, "done", done);
  if (plan_only) builder.Set(handle, "environment", builder.Strings(input.request.environment));
  const auto run = state_->Submit({runtime_, lane_, std::move(input.request), pool_.reference()},
                                  std::move(pending));
  if (!run) return env.Undefined();
  builder.Set(handle, "id", builder.Number(static_cast<double>(*run)));
  return builder.ok() ? Napi::Value(env, handle) : env.Undefined();
}

void RunnerCore::Abort(const Napi::CallbackInfo& info) {
  if (info[0].IsNumber()) {
    state_->Abort(static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  }
}

void RunnerCore::AbortAndWait(const Napi::CallbackInfo& info) {
  if (info[0].IsNumber()) {
    state_->AbortAndWait(static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  }
}

Napi::Value RunnerCore::PoolNumber(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(pool_.reference().number));
}

Napi::Value RunnerCore::PolicyText(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), policy_text_);
}

}  // namespace native_runner
