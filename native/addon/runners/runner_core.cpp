#include "addon/runners/runner_core.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "addon/convert/runner_options.h"
#include "addon/values/value_builder.h"
#include "addon/workspace/transaction_object.h"
#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/policy_text.h"
#include "supervise/backends/bubblewrap_backend.h"
#include "supervise/backends/firejail_backend.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/preparation/leases.h"
#include "supervise/session/session.h"

namespace native_runner {
namespace {

constexpr napi_type_tag kLeaseTag = {0x6f70656e61676e74, 0x6c656173652d2d2d};

// A LeaseHandle (types/addon.d.ts). JavaScript thread.
class LeaseObject : public Napi::ObjectWrap<LeaseObject> {
 public:
  explicit LeaseObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<LeaseObject>(info), state_(static_cast<EnvironmentState*>(info.Data())) {
    Reader reader(info.Env());
    Fields::Of(reader, info[0], {"options", ""}, [this](Fields& options) {
      const auto term = options.Integer("ms", 1, Lease::kMostMs);
      if (!term) return options.FailMissing("ms", "a number");
      lease_ = std::make_shared<Lease>(*term, LeaseNow());
    });
    if (reader.failed()) return;
    static_cast<void>(napi_type_tag_object(info.Env(), info.This(), &kLeaseTag));
  }

  static Napi::Function Define(Napi::Env env, EnvironmentState* state) {
    return DefineClass(env, "Lease",
                       {InstanceMethod<&LeaseObject::Renew>("renew"),
                        InstanceMethod<&LeaseObject::HasExpired>("hasExpired"),
                        InstanceMethod<&LeaseObject::Term>("term")},
                       state);
  }

  std::shared_ptr<const Lease> lease() const { return lease_; }

 private:
  Napi::Value Renew(const Napi::CallbackInfo& info) {
    const bool holds = lease_->Renew(LeaseNow());
    if (holds) state_->ReportRenewed(lease_);
    return Napi::Boolean::New(info.Env(), holds);
  }
  Napi::Value HasExpired(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), lease_->HasEnded(LeaseNow()));
  }
  Napi::Value Term(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(lease_->term_ms()));
  }

  EnvironmentState* state_;       // lives as long as the environment runs JavaScript
  std::shared_ptr<Lease> lease_;  // null only when the constructor threw
};

}  // namespace

void DefineLease(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  exports.Set("Lease", LeaseObject::Define(env, state));
}

std::shared_ptr<const Lease> ReadLease(Fields& input) {
  constexpr const char* kKey = "lease";
  const auto value = input.Value(kKey);
  if (!value) return nullptr;
  bool is_one = false;
  if (value->IsObject() &&
      napi_check_object_type_tag(input.reader().env(), *value, &kLeaseTag, &is_one) == napi_ok &&
      is_one) {
    return LeaseObject::Unwrap(value->As<Napi::Object>())->lease();
  }
  input.Fail(kKey, ErrorCode::kInvalidType, "a Lease", *value);
  return nullptr;
}

RunnerPool::RunnerPool(EnvironmentState* state, std::shared_ptr<const Backend> runtime,
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
  builder.Set(made, "standing", builder.Number(counters.prewarmed));
  builder.Set(made, "taken", builder.Number(counters.taken));
  builder.Set(made, "missed", builder.Number(counters.missed));
  builder.Set(made, "discarded", builder.Number(counters.discarded));
  return builder.ok() ? Napi::Value(env, made) : env.Undefined();
}

RunnerCore::RunnerCore(EnvironmentState* state, Options options)
    : state_(state),
      back_reference_(state->back_reference()),
      runtime_(std::move(options.runtime)),
      rules_(options.rules),
      policy_text_(std::move(options.policy_text)),
      pool_(state, runtime_, options.pool),
      asker_(options.asker),
      shown_(std::move(options.shown)),
      trust_(std::move(options.trust)) {
  rules_.host = &host_environment_;
  rules_.shown = shown_.get();
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
  const bool explains = use == Use::kExplain;
  if (explains) input.request.kind = ExplainCall{};

  PendingRun pending;
  pending.policy_hash = std::move(context.policy_hash);
  if (input.on_stdout) pending.on_stdout = Napi::Persistent(*input.on_stdout);
  if (input.on_stderr) pending.on_stderr = Napi::Persistent(*input.on_stderr);
  if (context.on_connection) {
    pending.on_connection = Napi::Persistent(*context.on_connection);
    input.request.reports_connections = true;
  }
  if (input.on_event) pending.on_event = Napi::Persistent(*input.on_event);
  napi_value done = nullptr;
  if (napi_create_promise(env, &pending.deferred, &done) != napi_ok) return env.Undefined();
  ValueBuilder builder(env);
  napi_value handle = builder.Object();
  builder.Set(handle, "done", done);
  if (explains) builder.Set(handle, "environment", builder.Strings(input.request.environment));
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
  const auto view = shown_ ? shown_->view() : nullptr;
  return Napi::String::New(info.Env(), view ? policy_text_ + HomeViewText(*view) : policy_text_);
}

namespace {

void ReadShown(Fields& fields, const char* name, std::vector<ShownPath>* paths) {
  fields.Objects(name, [paths](Fields& each) {
    ShownPath shown;
    shown.source = each.RequiredString("source");
    shown.target = each.RequiredString("target");
    paths->push_back(std::move(shown));
  });
}

}  // namespace

void RunnerCore::ShowHome(const Napi::CallbackInfo& info) {
  if (!shown_) return;
  Reader reader(info.Env());
  auto view = std::make_shared<HomeView>();
  Fields::Of(reader, info[0], {"view", "view."}, [&view](Fields& fields) {
    view->path = fields.String("path").value_or("");
    view->directory = fields.String("directory").value_or("");
    view->homes = fields.String("homes").value_or("");
    view->link = fields.String("link").value_or("");
    view->git_config = fields.String("gitConfig").value_or("");
    ReadShown(fields, "shown", &view->shown);
    ReadShown(fields, "followed", &view->followed);
    fields.Objects("caches", [&view](Fields& each) {
      ShownCache cache;
      cache.name = each.RequiredString("name");
      cache.source = each.RequiredString("source");
      cache.target = each.RequiredString("target");
      cache.hidden = each.Strings("hidden").value_or(std::vector<std::string>());
      view->caches.push_back(std::move(cache));
    });
    view->kept_caches = fields.String("keptCaches").value_or("");
    fields.Objects("hidden", [&view](Fields& each) {
      HiddenTools hidden;
      hidden.path = each.RequiredString("path");
      hidden.why = each.RequiredString("why");
      view->hidden.push_back(std::move(hidden));
    });
    view->replaced = fields.Variables("replaced").value_or(std::vector<Variable>());
    view->dropped = fields.Strings("dropped").value_or(std::vector<std::string>());
    view->added = fields.Variables("added").value_or(std::vector<Variable>());
    view->root = fields.String("root").value_or("");
    view->failure = fields.String("failure").value_or("");
    view->fix = fields.String("fix").value_or("");
  });
  if (!reader.failed()) shown_->Show(std::move(view));
}

void RunnerCore::Trust(const Napi::CallbackInfo& info) {
  if (!trust_) return;
  Reader reader(info.Env());
  auto files = std::make_shared<std::vector<TrustFile>>();
  Fields::Of(reader, info[0], {"trust", "trust."}, [&files](Fields& fields) {
    fields.Objects("files", [&files](Fields& each) {
      TrustFile file;
      file.path = each.RequiredString("path");
      const auto bytes = each.BytesOrText("text").value_or(std::vector<std::uint8_t>());
      const std::string text(bytes.begin(), bytes.end());
      const auto alike =
          std::find_if(files->begin(), files->end(),
                       [&text](const TrustFile& other) { return *other.text == text; });
      file.text = alike == files->end() ? std::make_shared<const std::string>(text) : alike->text;
      file.is_own = each.Boolean("isOwn").value_or(false);
      files->push_back(std::move(file));
    });
  });
  if (!reader.failed()) trust_->Show(std::move(files));
}

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

Napi::Value RunnerCore::Forward(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Reader reader(env);
  const auto request = ReadForward(reader, info[1], info[2]);
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (!request || napi_create_promise(env, &deferred, &done) != napi_ok) return env.Undefined();
  Supervisor::ForwardMessage message;
  message.run = NumberIn(info[0]);
  message.session = message.run == 0 ? session() : 0;
  message.opens = *request;
  state_->Submit(message, deferred);
  return {env, done};
}

Napi::Value RunnerCore::CloseForward(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (napi_create_promise(env, &deferred, &done) != napi_ok) return env.Undefined();
  Supervisor::ForwardMessage message;
  message.run = NumberIn(info[0]);
  message.session = message.run == 0 ? session() : 0;
  message.closes = NumberIn(info[1]);
  state_->Submit(message, deferred);
  return {env, done};
}

void RunnerCore::StopWait(const Napi::CallbackInfo& info) {
  state_->StopWait(NumberIn(info[0]));
}

namespace {

RunnerCore::Options With(std::shared_ptr<const Backend> runtime, RunnerCore::Options options) {
  options.runtime = std::move(runtime);
  return options;
}

}  // namespace

SessionCore::SessionCore(EnvironmentState* state, std::shared_ptr<const SessionBackend> runtime,
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
      !state().OpenSession(session_, runtime_, NumberIn(info[0]), promises)) {
    return env.Undefined();
  }
  ValueBuilder builder(env);
  napi_value both = builder.Object();
  builder.Set(both, "opened", opened);
  builder.Set(both, "ended", ended);
  return builder.ok() ? Napi::Value(env, both) : env.Undefined();
}

Napi::Value SessionCore::Number(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(session_));
}

Napi::Value SessionCore::Close(const Napi::CallbackInfo& info) {
  state().CloseSession(session_);
  return RunnerCore::Close(info);
}

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
