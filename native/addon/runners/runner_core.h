#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "addon/convert/fields.h"
#include "addon/convert/run_input.h"
#include "addon/environment/environment_state.h"
#include "policy/options/request.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/preparation/backend.h"
#include "supervise/session/session.h"

namespace native_runner {

// Defines the class that makes a LeaseHandle (types/addon.d.ts) on `exports`.
void DefineLease(Napi::Env env, Napi::Object exports, EnvironmentState* state);

// Reads the lease of such an object in the field `lease`; nullptr if it is absent. Any other value
// is a fault.
std::shared_ptr<const Lease> ReadLease(Fields& input);

// The prewarmed sandboxes of one runner, if it may have any; the destructor ends them. JavaScript
// thread.
class RunnerPool {
 public:
  RunnerPool(EnvironmentState* state, std::shared_ptr<const Backend> runtime,
             const std::optional<PoolRule>& rule);
  ~RunnerPool();
  RunnerPool(const RunnerPool&) = delete;
  RunnerPool& operator=(const RunnerPool&) = delete;

  // The reference with which a run is submitted that may take a prewarmed sandbox.
  const PoolReference& reference() const { return pool_; }

  // Return promises of the number of prewarmed sandboxes: Warm() once the missing ones are made,
  // Close() once all have ended for good.
  Napi::Value Warm(Napi::Env env) { return Request(env, false); }
  Napi::Value Close(Napi::Env env);

  // Returns the pool's state and counters, as PoolState in types/runner-options.d.ts.
  Napi::Value State(Napi::Env env) const;

 private:
  bool is_there() const { return pool_.counters != nullptr; }
  Napi::Value Request(Napi::Env env, bool closes);

  EnvironmentState* state_;
  std::shared_ptr<EnvironmentState*> back_reference_;
  std::shared_ptr<const Backend> runtime_;
  PoolReference pool_;
};

// The methods of every native runner object: exec, explain, spawn, abort, policyText, warm, close,
// pool. JavaScript thread.
class RunnerCore {
 public:
  struct Options {
    std::shared_ptr<const Backend> runtime;
    InputRules rules;
    std::string policy_text;
    std::optional<std::size_t> max_concurrent;  // none: the lane that runners share
    std::optional<PoolRule> pool;               // none: nothing is prewarmed
    std::uint64_t asker = 0;                    // of the policy's network; 0: none
    std::shared_ptr<CurrentHome> shown;         // null: neither home nor tools
    std::shared_ptr<CurrentTrust> trust;        // of the policy's network; null: TLS ends nowhere
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
  // Takes what the next sandboxes show of home and tools, as NativeHomeView in types/addon.d.ts.
  void ShowHome(const Napi::CallbackInfo& info);
  // Takes the files by which sandboxes trust this host where TLS ends, as NativeTrust there.
  void Trust(const Napi::CallbackInfo& info);
  Napi::Value Warm(const Napi::CallbackInfo& info) { return pool_.Warm(info.Env()); }
  Napi::Value Pool(const Napi::CallbackInfo& info) { return pool_.State(info.Env()); }
  // Returns the number by which the runner's sessions find its templates; 0: no templates.
  Napi::Value PoolNumber(const Napi::CallbackInfo& info);
  // Returns a promise that settles once no sandbox that was made ahead is left.
  virtual Napi::Value Close(const Napi::CallbackInfo& info) { return pool_.Close(info.Env()); }

  // Input from JavaScript to a live process. Ignores numbers that are no run's or whose run has
  // ended: that end is reported by then.
  void Write(const Napi::CallbackInfo& info);
  void EndInput(const Napi::CallbackInfo& info);
  void Grant(const Napi::CallbackInfo& info);
  void CloseOutput(const Napi::CallbackInfo& info);
  void Signal(const Napi::CallbackInfo& info);
  void Resize(const Napi::CallbackInfo& info);

  // Waits for a port of a live process or, if the given id is 0, of the session. Returns { id, done
  // }.
  Napi::Value WaitForPort(const Napi::CallbackInfo& info);
  Napi::Value Forward(const Napi::CallbackInfo& info);
  Napi::Value CloseForward(const Napi::CallbackInfo& info);
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
  std::shared_ptr<const Backend> runtime_;
  HostEnvironment host_environment_;
  InputRules rules_;
  std::string policy_text_;
  EnvironmentState::Lane lane_;
  RunnerPool pool_;
  std::uint64_t asker_;
  std::shared_ptr<CurrentHome> shown_;
  std::shared_ptr<CurrentTrust> trust_;
};

// A runner whose commands run in one session: Open() opens it, and the destructor ends it.
// JavaScript thread.
class SessionCore final : public RunnerCore {
 public:
  // `options.runtime` is replaced by the session's.
  SessionCore(EnvironmentState* state, std::shared_ptr<const SessionBackend> runtime,
              Options options);
  ~SessionCore() override;

  // Opens the session; called once, with the number of the session whose shell state it begins
  // with, or nothing. Returns { opened, ended }, two promises.
  Napi::Value Open(const Napi::CallbackInfo& info);
  // Returns what another session's Open() takes.
  Napi::Value Number(const Napi::CallbackInfo& info);
  Napi::Value Close(const Napi::CallbackInfo& info) override;

 protected:
  std::uint64_t session() const override { return session_; }

 private:
  std::shared_ptr<EnvironmentState*> back_reference_;
  std::shared_ptr<const SessionBackend> runtime_;
  std::uint64_t session_;
};

// Defines the class BubblewrapProcessSandbox: its constructor reads and checks the options once,
// and wrap() only computes. JavaScript thread.
void DefineProcessSandbox(Napi::Env env, Napi::Object exports);

// Defines the classes of types/addon.d.ts that make a RunnerHandle or a SessionHandle on `exports`.
void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state);

}  // namespace native_runner
