#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "addon/convert/input/run_input.h"
#include "addon/environment/environment_state.h"
#include "addon/runners/runner_pool.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// What every native runner object does: exec, explain, spawn, abort, policyText, warm, close, pool.
// JavaScript thread.
class RunnerCore {
 public:
  struct Options {
    std::shared_ptr<const Runtime> runtime;
    InputRules rules;
    std::string policy_text;
    std::optional<std::size_t> max_concurrent;  // none: the lane that runners share
    std::optional<PoolRule> pool;               // none: nothing is made ahead
    std::uint64_t asker = 0;                    // of the policy's network; 0: none
  };

  RunnerCore(EnvironmentState* state, Options options);
  virtual ~RunnerCore();
  RunnerCore(const RunnerCore&) = delete;
  RunnerCore& operator=(const RunnerCore&) = delete;

  Napi::Value Exec(const Napi::CallbackInfo& info) { return Submit(info, Use::kExec); }
  Napi::Value Explain(const Napi::CallbackInfo& info) { return Submit(info, Use::kExplain); }
  Napi::Value Spawn(const Napi::CallbackInfo& info) { return Submit(info, Use::kSpawn); }
  void Abort(const Napi::CallbackInfo& info);
  void AbortAndWait(const Napi::CallbackInfo& info);
  Napi::Value PolicyText(const Napi::CallbackInfo& info);
  Napi::Value Warm(const Napi::CallbackInfo& info) { return pool_.Warm(info.Env()); }
  Napi::Value Pool(const Napi::CallbackInfo& info) { return pool_.State(info.Env()); }
  // By which a session of the runner's finds its templates; 0: there are none.
  Napi::Value PoolNumber(const Napi::CallbackInfo& info);
  // A promise, settled once nothing is left that was made ahead.
  virtual Napi::Value Close(const Napi::CallbackInfo& info) { return pool_.Close(info.Env()); }

  // For a live process; see live_calls.cpp.
  void Write(const Napi::CallbackInfo& info);
  void EndInput(const Napi::CallbackInfo& info);
  void Grant(const Napi::CallbackInfo& info);
  void CloseOutput(const Napi::CallbackInfo& info);
  void Signal(const Napi::CallbackInfo& info);
  void Resize(const Napi::CallbackInfo& info);

  // Of a live process or, where `id` is 0, of the session: { id, done }. See live_calls.cpp.
  Napi::Value WaitForPort(const Napi::CallbackInfo& info);
  void StopWait(const Napi::CallbackInfo& info);

 protected:
  EnvironmentState& state() const { return *state_; }
  // The session that commands run in; 0: each has a sandbox of its own.
  virtual std::uint64_t session() const { return 0; }

 private:
  enum class Use { kExec, kExplain, kSpawn };
  Napi::Value Submit(const Napi::CallbackInfo& info, Use use);

  EnvironmentState* state_;  // lives as long as the environment runs JavaScript
  std::shared_ptr<EnvironmentState*> back_reference_;
  std::shared_ptr<const Runtime> runtime_;
  HostEnvironment host_environment_;
  InputRules rules_;
  std::string policy_text_;
  EnvironmentState::Lane lane_;
  RunnerPool pool_;
  std::uint64_t asker_;
};

}  // namespace native_runner
