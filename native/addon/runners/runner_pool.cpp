#include "addon/runners/runner_pool.h"

#include <utility>

#include "addon/values/value_builder.h"

namespace native_runner {

RunnerPool::RunnerPool(EnvironmentState* state, std::shared_ptr<const Runtime> runtime,
                       const std::optional<PoolRule>& rule)
    : state_(state), back_reference_(state->back_reference()), runtime_(std::move(runtime)) {
  if (rule) pool_ = {state_->NewPool(), *rule, std::make_shared<PoolCounters>()};
}

RunnerPool::~RunnerPool() {
  if (!is_there() || pool_.counters->closed.exchange(true) || *back_reference_ == nullptr) return;
  (*back_reference_)->RequestPool({0, true, pool_, runtime_}, nullptr);
}

Napi::Value RunnerPool::Close(Napi::Env env) {
  if (is_there()) pool_.counters->closed = true;
  return Request(env, true);
}

Napi::Value RunnerPool::Request(Napi::Env env, bool closes) {
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (napi_create_promise(env, &deferred, &done) != napi_ok) return env.Undefined();
  if (is_there()) {
    state_->RequestPool({0, closes, pool_, runtime_}, deferred);
  } else {
    napi_resolve_deferred(env, deferred, Napi::Number::New(env, 0));
  }
  return {env, done};
}

Napi::Value RunnerPool::State(Napi::Env env) const {
  ValueBuilder builder(env);
  napi_value made = builder.Object();
  const PoolCounters none;
  const PoolCounters& counters = is_there() ? *pool_.counters : none;
  builder.Set(made, "standing", builder.Number(counters.standing));
  builder.Set(made, "taken", builder.Number(counters.taken));
  builder.Set(made, "missed", builder.Number(counters.missed));
  builder.Set(made, "discarded", builder.Number(counters.discarded));
  return builder.ok() ? Napi::Value(env, made) : env.Undefined();
}

}  // namespace native_runner
