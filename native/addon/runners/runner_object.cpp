#include "addon/runners/runner_object.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "addon/convert/runner_options.h"
#include "addon/runners/runner_core.h"
#include "addon/values/value_builder.h"
#include "addon/workspace/transaction_object.h"
#include "policy/bubblewrap/process_sandbox.h"
#include "policy/policy_text.h"
#include "supervise/backends/bubblewrap_backend.h"
#include "supervise/backends/firejail_backend.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/backends/project_backend.h"
#include "supervise/session/session.h"

namespace native_runner {
namespace {

class ProcessSandboxObject : public Napi::ObjectWrap<ProcessSandboxObject> {
 public:
  explicit ProcessSandboxObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<ProcessSandboxObject>(info) {
    Reader reader(info.Env());
    Fields::Of(reader, info[0], {"options", ""},
               [this](Fields& options) { policy_ = ReadProcessSandboxPolicy(options); });
  }

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "BubblewrapProcessSandbox",
                       {InstanceMethod("wrap", &ProcessSandboxObject::Wrap)});
  }

 private:
  Napi::Value Wrap(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    Reader reader(env);
    ProcessCommand command;
    Fields::Of(reader, info[0], {"command", ""},
               [&command](Fields& fields) { command = ReadProcessCommand(fields); });
    if (reader.failed()) return env.Undefined();
    ValueBuilder builder(env);
    napi_value wrapped = builder.Object();
    builder.Set(wrapped, "cmd", builder.String(policy_.sandbox.bwrap_path));
    builder.Set(wrapped, "args", builder.Strings(ProcessSandboxArgs(policy_, command)));
    return builder.ok() ? Napi::Value(env, wrapped) : env.Undefined();
  }

  ProcessSandboxPolicy policy_;
};

}  // namespace

void DefineProcessSandbox(Napi::Env env, Napi::Object exports) {
  exports.Set("BubblewrapProcessSandbox", ProcessSandboxObject::Define(env));
}

namespace {

template <auto kRead>
using PolicyOf = decltype(kRead(std::declval<Fields&>()));

EnvironmentState* StateOf(const Napi::CallbackInfo& info) {
  return static_cast<EnvironmentState*>(info.Data());
}

// Makes the backend that runs the commands of a policy. `transaction`: the argument that may be
// one.
template <typename RuntimeKind, typename Policy>
std::shared_ptr<const RuntimeKind> MakeBackend(Reader& reader, const Napi::Value& transaction,
                                               Policy policy) {
  if (const auto opened = ReadTransaction(reader, transaction)) {
    if constexpr (std::is_same_v<RuntimeKind, FirejailBackend>) {
      reader.Fail({ErrorCode::kUnavailable, "firejail can't run commands in a transaction",
                   "use Bubblewrap or Landlock"});
    } else {
      return std::make_shared<const RuntimeKind>(std::move(policy), opened->workspace());
    }
  }
  return std::make_shared<const RuntimeKind>(std::move(policy));
}

// Returns where commands see the workspace; "" if that is known only when a run starts.
template <typename Policy>
std::string WorkspaceOf(const Policy& policy) {
  if constexpr (requires { policy.workspace_path; }) return policy.workspace_path;
  return "";
}

template <typename Policy>
std::shared_ptr<CurrentHome> ShownOf(const Policy& policy) {
  if constexpr (requires { policy.shown; }) return policy.shown;
  return nullptr;
}

// True if a policy can have a network by domain.
template <typename Policy>
concept ByDomain = requires(Policy policy) {
  policy.by_domain;
};

// Returns the files by which commands trust the host where TLS ends there.
template <typename Policy>
std::shared_ptr<CurrentTrust> TrustOf(const Policy& policy) {
  if constexpr (ByDomain<Policy>) {
    if (policy.by_domain && policy.by_domain->termination) {
      return policy.by_domain->termination->trust;
    }
  }
  return nullptr;
}

// Returns the function that decides what the rules of the policy's network leave open.
template <typename Policy>
std::optional<Napi::Function> ReadAsked(Fields& options, const Policy& policy) {
  if constexpr (ByDomain<Policy>) {
    if (policy.by_domain && policy.by_domain->rules.asks) return ReadOnRequest(options);
  }
  return std::nullopt;
}

// Registers the function, if there is one, and gives the network its number; 0: no function.
template <typename Policy>
std::uint64_t AddAsker(const Napi::CallbackInfo& info, const std::optional<Napi::Function>& asked,
                       Policy& policy) {
  if constexpr (ByDomain<Policy>) {
    if (!asked) return 0;
    NetworkPolicy asking = *policy.by_domain;
    asking.asker = StateOf(info)->askers().Add(info.This().As<Napi::Object>(), *asked);
    policy.by_domain = std::make_shared<const NetworkPolicy>(std::move(asking));
    return policy.by_domain->asker;
  }
  return 0;
}

// Reads the options, and connects the backend's own policy with the core.
template <typename RuntimeKind, auto kRead>
std::unique_ptr<RunnerCore> Make(const Napi::CallbackInfo& info, const char* cwd_label) {
  Reader reader(info.Env());
  RunnerCore::Options made;
  PolicyOf<kRead> policy;
  std::optional<Napi::Function> asked;
  Fields::Of(reader, info[0], {"options", ""}, [&](Fields& options) {
    made.max_concurrent = ReadMaxConcurrent(options);
    policy = kRead(options);
    if constexpr (std::is_same_v<RuntimeKind, BubblewrapBackend>) {
      made.pool = ReadPrewarm(options, policy);
    }
    asked = ReadAsked(options, policy);
  });
  if (reader.failed()) return nullptr;
  made.policy_text = PolicyText(policy);
  made.asker = AddAsker(info, asked, policy);
  made.shown = ShownOf(policy);
  made.trust = TrustOf(policy);
  const auto runtime = MakeBackend<RuntimeKind>(reader, info[1], std::move(policy));
  if (reader.failed()) {
    StateOf(info)->askers().Remove(made.asker);
    return nullptr;
  }
  made.rules = {&runtime->policy().environment, nullptr, nullptr, cwd_label,
                WorkspaceOf(runtime->policy())};
  made.runtime = runtime;
  return std::make_unique<RunnerCore>(StateOf(info), std::move(made));
}

// Reads a runner's options, and the session's own.
template <typename RuntimeKind, auto kRead>
std::unique_ptr<SessionCore> MakeSession(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  RunnerCore::Options made;
  PolicyOf<kRead> policy;
  std::optional<Napi::Function> asked;
  Fields::Of(reader, info[0], {"options", ""}, [&](Fields& options) {
    made.max_concurrent = ReadMaxConcurrent(options);
    policy = kRead(options);
    if constexpr (std::is_same_v<RuntimeKind, BubblewrapBackend>) ReadPrewarm(options, policy);
    asked = ReadAsked(options, policy);
  });
  SessionRule rule;
  Fields::Of(reader, info[1], {"options", ""},
             [&rule](Fields& options) { rule = ReadSessionRule(options); });
  if (info[3].IsNumber()) {  // passed by lib: the runner's poolNumber()
    rule.clones_of = static_cast<std::uint64_t>(info[3].As<Napi::Number>().Int64Value());
  }
  if constexpr (std::is_same_v<RuntimeKind, BubblewrapBackend>) {
    if (policy.isolation != Isolation::kStrict) {
      reader.Fail({ErrorCode::kInvalidValue,
                   "Expected `isolation` to be \"strict\" for a session, got \"compat\"", ""});
    }
  }
  if (reader.failed()) return nullptr;
  made.policy_text = PolicyText(policy);
  made.asker = AddAsker(info, asked, policy);
  made.shown = ShownOf(policy);
  made.trust = TrustOf(policy);
  const auto inner = MakeBackend<RuntimeKind>(reader, info[2], std::move(policy));
  if (reader.failed()) {
    StateOf(info)->askers().Remove(made.asker);
    return nullptr;
  }
  made.rules = {&inner->policy().environment, nullptr, nullptr, "NativeRunner.exec",
                WorkspaceOf(inner->policy())};
  return std::make_unique<SessionCore>(
      StateOf(info), std::make_shared<const SessionBackend>(inner, rule), std::move(made));
}

std::unique_ptr<RunnerCore> MakeBubblewrap(const Napi::CallbackInfo& info) {
  return Make<BubblewrapBackend, ReadBubblewrapPolicy>(info, "NativeRunner.exec");
}

std::unique_ptr<RunnerCore> MakeProject(const Napi::CallbackInfo& info) {
  return Make<ProjectBackend, ReadProjectPolicy>(info, "Bwrap.exec");
}

std::unique_ptr<RunnerCore> MakeLandlock(const Napi::CallbackInfo& info) {
  return Make<LandlockBackend, ReadLandlockPolicy>(info, "NativeRunner.exec");
}

std::unique_ptr<RunnerCore> MakeFirejail(const Napi::CallbackInfo& info) {
  return Make<FirejailBackend, ReadFirejailPolicy>(info, "NativeRunner.exec");
}

std::unique_ptr<RunnerCore> MakeLocal(const Napi::CallbackInfo& info) {
  return Make<LocalBackend, ReadLocalPolicy>(info, "LocalNativeRunner");
}

std::unique_ptr<SessionCore> MakeBubblewrapSession(const Napi::CallbackInfo& info) {
  return MakeSession<BubblewrapBackend, ReadBubblewrapPolicy>(info);
}

std::unique_ptr<SessionCore> MakeLandlockSession(const Napi::CallbackInfo& info) {
  return MakeSession<LandlockBackend, ReadLandlockPolicy>(info);
}

// A JavaScript class: each instance has the core that `kMake` makes from the constructor's
// arguments.
template <auto kMake>
class RunnerObject : public Napi::ObjectWrap<RunnerObject<kMake>> {
 public:
  using Base = Napi::ObjectWrap<RunnerObject<kMake>>;
  using Made = decltype(kMake(std::declval<const Napi::CallbackInfo&>()));
  using Core = typename Made::element_type;
  static constexpr bool kIsSession = std::is_same_v<Core, SessionCore>;

  explicit RunnerObject(const Napi::CallbackInfo& info) : Base(info), core_(kMake(info)) {}

  static Napi::Function Define(Napi::Env env, const char* name, EnvironmentState* state) {
    std::vector<Napi::ClassPropertyDescriptor<RunnerObject>> methods = {
        Method<&Core::Exec>("exec"),
        Method<&Core::Explain>("explain"),
        Method<&Core::Spawn>("spawn"),
        Method<&Core::Write>("write"),
        Method<&Core::EndInput>("endInput"),
        Method<&Core::Grant>("grant"),
        Method<&Core::CloseOutput>("closeOutput"),
        Method<&Core::Signal>("signal"),
        Method<&Core::Resize>("resize"),
        Method<&Core::WaitForPort>("waitForPort"),
        Method<&Core::Forward>("forward"),
        Method<&Core::CloseForward>("closeForward"),
        Method<&Core::StopWait>("stopWait"),
        Method<&Core::Abort>("abort"),
        Method<&Core::AbortAndWait>("abortAndWait"),
        Method<&Core::PolicyText>("policyText"),
        Method<&Core::ShowHome>("showHome"),
        Method<&Core::Trust>("trust"),
        Method<&Core::Warm>("warm"),
        Method<&Core::Close>("close"),
        Method<&Core::Pool>("pool"),
        Method<&Core::PoolNumber>("poolNumber")};
    if constexpr (kIsSession) {
      methods.push_back(Method<&Core::Open>("open"));
      methods.push_back(Method<&Core::Number>("number"));
    }
    return Base::DefineClass(env, name, methods, state);
  }

 private:
  template <auto kCall>
  auto Forward(const Napi::CallbackInfo& info) {
    return (core_.get()->*kCall)(info);
  }

  template <auto kCall>
  static auto Method(const char* name) {
    return Base::InstanceMethod(name, &RunnerObject::template Forward<kCall>);
  }

  Made core_;  // null only when the constructor threw
};

template <auto kMake>
void DefineRunner(Napi::Env env, Napi::Object exports, const char* name, EnvironmentState* state) {
  exports.Set(name, RunnerObject<kMake>::Define(env, name, state));
}

}  // namespace

void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  DefineRunner<MakeBubblewrap>(env, exports, "BubblewrapNativeRunner", state);
  DefineRunner<MakeProject>(env, exports, "ProjectRunner", state);
  DefineRunner<MakeLandlock>(env, exports, "LandlockNativeRunner", state);
  DefineRunner<MakeFirejail>(env, exports, "FirejailNativeRunner", state);
  DefineRunner<MakeLocal>(env, exports, "LocalNativeRunner", state);
  DefineRunner<MakeBubblewrapSession>(env, exports, "BubblewrapSession", state);
  DefineRunner<MakeLandlockSession>(env, exports, "LandlockSession", state);
}

}  // namespace native_runner
