#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "addon/convert/convert.h"
#include "addon/environment/environment_state.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// What every native runner class does: exec, explain, spawn, abort, policyText, warm, close, pool.
// JavaScript thread.
class RunnerCore {
 public:
  RunnerCore(EnvironmentState* state, std::shared_ptr<const Runtime> runtime, InputRules rules,
             std::string policy_text, std::optional<std::size_t> max_concurrent);
  ~RunnerCore();  // ends its pool
  RunnerCore(const RunnerCore&) = delete;
  RunnerCore& operator=(const RunnerCore&) = delete;

  // Sandboxes may stand for this runner.
  void UsePool(PoolRule rule);

  // Commands run in one session, which is still to be opened.
  void UseSession(std::shared_ptr<const SessionRuntime> runtime);

  Napi::Value Exec(const Napi::CallbackInfo& info) { return Submit(info, Use::kExec); }
  Napi::Value Explain(const Napi::CallbackInfo& info) { return Submit(info, Use::kExplain); }
  Napi::Value Spawn(const Napi::CallbackInfo& info) { return Submit(info, Use::kSpawn); }
  void Abort(const Napi::CallbackInfo& info);
  void AbortAndWait(const Napi::CallbackInfo& info);
  Napi::Value PolicyText(const Napi::CallbackInfo& info);
  Napi::Value Warm(const Napi::CallbackInfo& info) { return AskPool(info, false); }
  // Of a session, once: { opened, ended }, two promises.
  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value Close(const Napi::CallbackInfo& info);
  Napi::Value Pool(const Napi::CallbackInfo& info);

  // For a live process; see live_calls.cpp.
  void Write(const Napi::CallbackInfo& info);
  void EndInput(const Napi::CallbackInfo& info);
  void Grant(const Napi::CallbackInfo& info);
  void CloseOutput(const Napi::CallbackInfo& info);
  void Signal(const Napi::CallbackInfo& info);
  void Resize(const Napi::CallbackInfo& info);

 private:
  enum class Use { kExec, kExplain, kSpawn };
  Napi::Value Submit(const Napi::CallbackInfo& info, Use use);

  Napi::Value AskPool(const Napi::CallbackInfo& info, bool closes);

  EnvironmentState* state_;  // lives as long as the environment runs JavaScript
  std::shared_ptr<EnvironmentState*> tie_;
  PoolReference pool_;
  std::shared_ptr<const SessionRuntime> session_runtime_;
  std::uint64_t session_ = 0;  // 0: there is none
  std::shared_ptr<const Runtime> runtime_;
  HostEnvironment host_environment_;
  InputRules rules_;
  std::string policy_text_;
  EnvironmentState::Lane lane_;
};

// Defines the classes Bubblewrap-, Landlock-, Firejail- and LocalNativeRunner on `exports`.
void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state);

}  // namespace native_runner
