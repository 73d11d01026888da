#include "addon/runners/runner_object.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "addon/values/value_builder.h"
#include "policy/policy_text.h"
#include "supervise/runtimes/bubblewrap_runtime.h"
#include "supervise/runtimes/firejail_runtime.h"
#include "supervise/runtimes/landlock_runtime.h"
#include "supervise/runtimes/local_runtime.h"
#include "supervise/runtimes/project_runtime.h"
#include "supervise/session/session_runtime.h"

namespace native_runner {
namespace {

EnvironmentState* StateOf(const Napi::CallbackInfo& info) {
  return static_cast<EnvironmentState*>(info.Data());
}

// Reads the options, and ties the runtime's own policy to the core.
template <typename RuntimeKind, auto kRead>
std::unique_ptr<RunnerCore> Make(const Napi::CallbackInfo& info, const char* cwd_label,
                                 bool in_workspace) {
  Reader reader(info.Env());
  const auto width = ReadMaxConcurrent(reader, info[0]);
  auto policy = kRead(reader, info[0]);
  if (!policy || reader.failed()) return nullptr;
  std::optional<PoolRule> pool;
  if constexpr (std::is_same_v<RuntimeKind, BubblewrapRuntime>) {
    pool = ReadPrewarm(reader, info[0], *policy);
    if (reader.failed()) return nullptr;
  }
  std::string text = PolicyText(*policy);
  auto runtime = std::make_shared<const RuntimeKind>(std::move(*policy));
  const InputRules rules{&runtime->policy().environment, nullptr, cwd_label, in_workspace};
  auto core = std::make_unique<RunnerCore>(StateOf(info), runtime, rules, std::move(text), width);
  if (pool) core->UsePool(*pool);
  return core;
}

std::unique_ptr<RunnerCore> MakeBubblewrap(const Napi::CallbackInfo& info) {
  return Make<BubblewrapRuntime, ReadBubblewrapPolicy>(info, "NativeRunner.exec", true);
}

std::unique_ptr<RunnerCore> MakeProject(const Napi::CallbackInfo& info) {
  return Make<ProjectRuntime, ReadProjectPolicy>(info, "Bwrap.exec", false);
}

std::unique_ptr<RunnerCore> MakeLandlock(const Napi::CallbackInfo& info) {
  return Make<LandlockRuntime, ReadLandlockPolicy>(info, "NativeRunner.exec", false);
}

std::unique_ptr<RunnerCore> MakeFirejail(const Napi::CallbackInfo& info) {
  return Make<FirejailRuntime, ReadFirejailPolicy>(info, "NativeRunner.exec", false);
}

std::unique_ptr<RunnerCore> MakeLocal(const Napi::CallbackInfo& info) {
  return Make<LocalRuntime, ReadLocalPolicy>(info, "LocalNativeRunner", false);
}

// Of a runner's options, and the session's own.
template <typename RuntimeKind, auto kRead>
std::unique_ptr<RunnerCore> MakeSession(const Napi::CallbackInfo& info, bool in_workspace) {
  Reader reader(info.Env());
  const auto width = ReadMaxConcurrent(reader, info[0]);
  auto policy = kRead(reader, info[0]);
  const auto rule = ReadSessionRule(reader, info[1]);
  if (!policy || !rule || reader.failed()) return nullptr;
  if constexpr (std::is_same_v<RuntimeKind, BubblewrapRuntime>) {
    if (policy->isolation != Isolation::kStrict) {
      reader.Fail({ErrorCode::kInvalidValue,
                   "Expected `isolation` to be \"strict\" for a session, got \"compat\"", ""});
      return nullptr;
    }
  }
  std::string text = PolicyText(*policy);
  const auto inner = std::make_shared<const RuntimeKind>(std::move(*policy));
  const InputRules rules{&inner->policy().environment, nullptr, "NativeRunner.exec", in_workspace};
  auto runtime = std::make_shared<const SessionRuntime>(inner, *rule);
  auto core = std::make_unique<RunnerCore>(StateOf(info), runtime, rules, std::move(text), width);
  core->UseSession(std::move(runtime));
  return core;
}

std::unique_ptr<RunnerCore> MakeBubblewrapSession(const Napi::CallbackInfo& info) {
  return MakeSession<BubblewrapRuntime, ReadBubblewrapPolicy>(info, true);
}

std::unique_ptr<RunnerCore> MakeLandlockSession(const Napi::CallbackInfo& info) {
  return MakeSession<LandlockRuntime, ReadLandlockPolicy>(info, false);
}

using Maker = std::unique_ptr<RunnerCore> (*)(const Napi::CallbackInfo&);

template <Maker kMake>
class RunnerObject : public Napi::ObjectWrap<RunnerObject<kMake>> {
 public:
  using Base = Napi::ObjectWrap<RunnerObject<kMake>>;
  explicit RunnerObject(const Napi::CallbackInfo& info) : Base(info), core_(kMake(info)) {}

  // `is_session`: it can be opened.
  static Napi::Function Define(Napi::Env env, const char* name, bool is_session,
                               EnvironmentState* state) {
    std::vector<Napi::ClassPropertyDescriptor<RunnerObject>> methods = {
        Base::InstanceMethod("exec", &RunnerObject::Exec),
        Base::InstanceMethod("explain", &RunnerObject::Explain),
        Base::InstanceMethod("spawn", &RunnerObject::Spawn),
        Base::InstanceMethod("write", &RunnerObject::Write),
        Base::InstanceMethod("endInput", &RunnerObject::EndInput),
        Base::InstanceMethod("grant", &RunnerObject::Grant),
        Base::InstanceMethod("closeOutput", &RunnerObject::CloseOutput),
        Base::InstanceMethod("signal", &RunnerObject::Signal),
        Base::InstanceMethod("resize", &RunnerObject::Resize),
        Base::InstanceMethod("abort", &RunnerObject::Abort),
        Base::InstanceMethod("abortAndWait", &RunnerObject::AbortAndWait),
        Base::InstanceMethod("policyText", &RunnerObject::PolicyText),
        Base::InstanceMethod("warm", &RunnerObject::Warm),
        Base::InstanceMethod("close", &RunnerObject::Close),
        Base::InstanceMethod("pool", &RunnerObject::Pool)};
    if (is_session) methods.push_back(Base::InstanceMethod("open", &RunnerObject::Open));
    return Base::DefineClass(env, name, methods, state);
  }

 private:
  Napi::Value Exec(const Napi::CallbackInfo& info) { return core_->Exec(info); }
  Napi::Value Explain(const Napi::CallbackInfo& info) { return core_->Explain(info); }
  Napi::Value Spawn(const Napi::CallbackInfo& info) { return core_->Spawn(info); }
  void Write(const Napi::CallbackInfo& info) { core_->Write(info); }
  void EndInput(const Napi::CallbackInfo& info) { core_->EndInput(info); }
  void Grant(const Napi::CallbackInfo& info) { core_->Grant(info); }
  void CloseOutput(const Napi::CallbackInfo& info) { core_->CloseOutput(info); }
  void Signal(const Napi::CallbackInfo& info) { core_->Signal(info); }
  void Resize(const Napi::CallbackInfo& info) { core_->Resize(info); }
  void Abort(const Napi::CallbackInfo& info) { core_->Abort(info); }
  void AbortAndWait(const Napi::CallbackInfo& info) { core_->AbortAndWait(info); }
  Napi::Value PolicyText(const Napi::CallbackInfo& info) { return core_->PolicyText(info); }
  Napi::Value Warm(const Napi::CallbackInfo& info) { return core_->Warm(info); }
  Napi::Value Open(const Napi::CallbackInfo& info) { return core_->Open(info); }
  Napi::Value Close(const Napi::CallbackInfo& info) { return core_->Close(info); }
  Napi::Value Pool(const Napi::CallbackInfo& info) { return core_->Pool(info); }

  std::unique_ptr<RunnerCore> core_;  // null only when the constructor threw
};

}  // namespace

RunnerCore::RunnerCore(EnvironmentState* state, std::shared_ptr<const Runtime> runtime,
                       InputRules rules, std::string policy_text,
                       std::optional<std::size_t> max_concurrent)
    : state_(state),
      tie_(state->tie()),
      runtime_(std::move(runtime)),
      rules_(rules),
      policy_text_(std::move(policy_text)) {
  rules_.host = &host_environment_;
  if (max_concurrent) {
    lane_ = state_->NewLane(*max_concurrent);
  }
}

void RunnerCore::UsePool(PoolRule rule) {
  pool_ = {state_->NewPool(), rule, std::make_shared<PoolCounters>()};
}

void RunnerCore::UseSession(std::shared_ptr<const SessionRuntime> runtime) {
  session_runtime_ = std::move(runtime);
  session_ = state_->NewSession();
}

RunnerCore::~RunnerCore() {
  if (session_ != 0 && *tie_ != nullptr) (*tie_)->CloseSession(session_);
  if (pool_.number == 0 || pool_.counters->closed.exchange(true) || *tie_ == nullptr) return;
  (*tie_)->RequestPool({0, true, pool_, runtime_}, nullptr);
}

Napi::Value RunnerCore::Open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SessionPromises promises;
  napi_value opened = nullptr;
  napi_value ended = nullptr;
  if (session_ == 0 || napi_create_promise(env, &promises.opened, &opened) != napi_ok ||
      napi_create_promise(env, &promises.ended, &ended) != napi_ok ||
      !state_->OpenSession(session_, session_runtime_, promises)) {
    return env.Undefined();
  }
  ValueBuilder builder(env);
  napi_value both = builder.Object();
  builder.Set(both, "opened", opened);
  builder.Set(both, "ended", ended);
  return builder.ok() ? Napi::Value(env, both) : env.Undefined();
}

Napi::Value RunnerCore::Close(const Napi::CallbackInfo& info) {
  if (session_ != 0) state_->CloseSession(session_);
  if (pool_.number != 0) pool_.counters->closed = true;
  return AskPool(info, true);
}

Napi::Value RunnerCore::AskPool(const Napi::CallbackInfo& info, bool closes) {
  const Napi::Env env = info.Env();
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (napi_create_promise(env, &deferred, &done) != napi_ok) return env.Undefined();
  if (pool_.number == 0) {
    napi_resolve_deferred(env, deferred, Napi::Number::New(env, 0));
  } else {
    state_->RequestPool({0, closes, pool_, runtime_}, deferred);
  }
  return {env, done};
}

Napi::Value RunnerCore::Pool(const Napi::CallbackInfo& info) {
  ValueBuilder builder(info.Env());
  napi_value made = builder.Object();
  const PoolCounters none;
  const PoolCounters& counters = pool_.counters ? *pool_.counters : none;
  builder.Set(made, "standing", builder.Number(counters.standing));
  builder.Set(made, "taken", builder.Number(counters.taken));
  builder.Set(made, "missed", builder.Number(counters.missed));
  builder.Set(made, "discarded", builder.Number(counters.discarded));
  return builder.ok() ? Napi::Value(info.Env(), made) : info.Env().Undefined();
}

Napi::Value RunnerCore::Submit(const Napi::CallbackInfo& info, Use use) {
  const Napi::Env env = info.Env();
  Reader reader(env);
  const auto context = reader.Object(info[1], "context");
  if (!context) return env.Undefined();
  const bool plan_only = use == Use::kExplain;
  auto request = use == Use::kSpawn ? ReadSpawnInput(reader, info[0], *context, rules_)
                                    : ReadExecInput(reader, info[0], *context, rules_);
  if (!request) return env.Undefined();
  request->plan_only = plan_only;

  PendingRun pending;
  pending.policy_hash = reader.String(*context, "policyHash", "context.policyHash").value_or("");
  const auto input = info[0].As<Napi::Object>();
  if (const auto call = reader.Function(input, "onStdout", "onStdout")) {
    pending.on_stdout = Napi::Persistent(*call);
  }
  if (const auto call = reader.Function(input, "onStderr", "onStderr")) {
    pending.on_stderr = Napi::Persistent(*call);
  }
  if (const auto call = reader.Function(input, "onEvent", "onEvent")) {
    pending.on_event = Napi::Persistent(*call);
  }
  napi_value done = nullptr;
  if (reader.failed() || napi_create_promise(env, &pending.deferred, &done) != napi_ok) {
    return env.Undefined();
  }
  ValueBuilder builder(env);
  napi_value handle = builder.Object();
  builder.Set(handle, "done", done);
  if (plan_only) builder.Set(handle, "environment", builder.Strings(request->environment));
  const auto run =
      state_->Submit({runtime_, lane_, std::move(*request), pool_}, std::move(pending));
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

Napi::Value RunnerCore::PolicyText(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), policy_text_);
}

void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  const auto define = [&]<Maker kMake>(const char* name, bool is_session = false) {
    exports.Set(name, RunnerObject<kMake>::Define(env, name, is_session, state));
  };
  define.operator()<MakeBubblewrap>("BubblewrapNativeRunner");
  define.operator()<MakeProject>("ProjectRunner");
  define.operator()<MakeLandlock>("LandlockNativeRunner");
  define.operator()<MakeFirejail>("FirejailNativeRunner");
  define.operator()<MakeLocal>("LocalNativeRunner");
  define.operator()<MakeBubblewrapSession>("BubblewrapSession", true);
  define.operator()<MakeLandlockSession>("LandlockSession", true);
}

}  // namespace native_runner
