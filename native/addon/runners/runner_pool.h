#pragma once

#include <napi.h>

#include <memory>

#include "addon/environment/environment_state.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// The prewarmed sandboxes of one runner, or none where it may have none. Ends them with itself.
// JavaScript thread.
class RunnerPool {
 public:
  RunnerPool(EnvironmentState* state, std::shared_ptr<const Runtime> runtime,
             const std::optional<PoolRule>& rule);
  ~RunnerPool();
  RunnerPool(const RunnerPool&) = delete;
  RunnerPool& operator=(const RunnerPool&) = delete;

  // What a run that may take one of them is submitted with.
  const PoolReference& reference() const { return pool_; }

  // Promises of how many stand: once what is missing was made, once all are ended for good.
  Napi::Value Warm(Napi::Env env) { return Request(env, false); }
  Napi::Value Close(Napi::Env env);

  // What it has and has done, as types/public.d.ts's PoolState.
  Napi::Value State(Napi::Env env) const;

 private:
  bool is_there() const { return pool_.counters != nullptr; }
  Napi::Value Request(Napi::Env env, bool closes);

  EnvironmentState* state_;
  std::shared_ptr<EnvironmentState*> back_reference_;
  std::shared_ptr<const Runtime> runtime_;
  PoolReference pool_;
};

}  // namespace native_runner
