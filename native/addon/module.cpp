#include <napi.h>

#include "addon/convert/runner_options.h"
#include "addon/environment/environment_state.h"
#include "addon/runners/runner_core.h"
#include "addon/values/result.h"
#include "addon/values/value_builder.h"
#include "addon/workspace/files_object.h"
#include "addon/workspace/host_paths.h"
#include "addon/workspace/transaction_object.h"
#include "policy/bubblewrap/bubblewrap_plan.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/host/program.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/file_threads.h"
#include "workspace/files/workspace_files.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

Napi::Value Configure(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  Fields::Of(reader, info[0], {"options", ""}, [&info](Fields& options) {
    const auto path = options.String("launcherPath");
    const auto make_result = options.Function("makeResult");
    if (path && make_result) {
      static_cast<EnvironmentState*>(info.Data())->Configure(*path, *make_result);
    }
  });
  return info.Env().Undefined();
}

Napi::Value BuildBubblewrapArgv(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Reader reader(env);
  ArgvOptions options;
  Fields::Of(reader, info[0], {"options", ""},
             [&options](Fields& fields) { options = ReadArgvOptions(fields); });
  if (reader.failed()) return env.Undefined();
  std::vector<std::string> args =
      BubblewrapOptions(PlanPureBubblewrap(options.policy, options.cwd));
  args.emplace_back("--");
  args.insert(args.end(), options.command.begin(), options.command.end());
  ValueBuilder builder(env);
  napi_value built = builder.Object();
  builder.Set(built, "cmd", builder.String(options.policy.bwrap_path));
  builder.Set(built, "args", builder.Strings(args));
  return builder.ok() ? Napi::Value(env, built) : env.Undefined();
}

// Takes (question, "allow"
// "deny"
// "none"); any other answer counts as "none".
Napi::Value AnswerNetworkQuestion(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  if (!info[0].IsNumber() || !info[1].IsString()) {
    reader.Fail({ErrorCode::kInvalidType, "Expected a question's number and an answer", ""});
    return info.Env().Undefined();
  }
  const std::string answer = info[1].As<Napi::String>();
  const NetworkAnswer given = answer == "allow"  ? NetworkAnswer::kAllow
                              : answer == "deny" ? NetworkAnswer::kDeny
                                                 : NetworkAnswer::kNone;
  static_cast<EnvironmentState*>(info.Data())
      ->Answer(static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()), given);
  return info.Env().Undefined();
}

// Returns { channel, end }: see NativeAddon.openTerminator.
Napi::Value OpenTerminator(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto opened = static_cast<EnvironmentState*>(info.Data())->OpenTerminator();
  if (!opened) {
    ThrowJsError(env, opened.error());
    return env.Undefined();
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("channel", opened->first);
  made.Set("end", opened->second.Release());
  return made;
}

Napi::Value LandlockAbiOf(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), LandlockAbi());
}

// Returns the path of the control group that runs can have groups in; undefined without one.
Napi::Value ControlGroup(const Napi::CallbackInfo& info) {
  const CgroupParent found = CgroupParent::Detect();
  if (found.directory().empty()) return info.Env().Undefined();
  return Napi::String::New(info.Env(), found.directory());
}

// Finds a program on the host's own PATH, or on the given one; null if it is not there.
Napi::Value FindProgramOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString()) return env.Null();
  const std::string search_path =
      info[1].IsString() ? std::string(info[1].As<Napi::String>()) : EnvironmentState::SearchPath();
  auto* state = static_cast<EnvironmentState*>(info.Data());
  const auto found = FindProgram(info[0].As<Napi::String>(), search_path, &state->looks());
  return found ? Napi::Value(Napi::String::New(env, found.value())) : env.Null();
}

// Throws if the file system of an absolute path does not answer; else does nothing, whatever the
// path is.
Napi::Value ExpectAnswer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString()) return env.Undefined();
  const std::string path = info[0].As<Napi::String>();
  const auto look = [path] { LookAtPath(path); };
  const std::uint64_t patience_ms =
      info[1].IsNumber() ? info[1].As<Napi::Number>().Uint32Value() : BriefLooks::kPatienceMs;
  auto* state = static_cast<EnvironmentState*>(info.Data());
  if (state->looks().AreLocal()) return env.Undefined();
  if (const auto unanswered = state->looks().DoApart(path, look, patience_ms))
    ThrowJsError(env, *unanswered);
  return env.Undefined();
}

// Returns the mount points of file systems that do not answer.
Napi::Value SilentMounts(const Napi::CallbackInfo& info) {
  constexpr std::uint64_t kMostMs = 200;
  const Napi::Env env = info.Env();
  auto* state = static_cast<EnvironmentState*>(info.Data());
  const std::vector<std::string> silent = state->looks().Silent(kMostMs);
  Napi::Array all = Napi::Array::New(env, silent.size());
  for (std::size_t at = 0; at < silent.size(); ++at)
    all.Set(static_cast<std::uint32_t>(at), silent[at]);
  return all;
}

// Resolves when the file system of an absolute path answers.
Napi::Value AwaitAnswer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_deferred deferred = nullptr;
  napi_value done = nullptr;
  if (!info[0].IsString() || napi_create_promise(env, &deferred, &done) != napi_ok)
    return env.Undefined();
  auto* state = static_cast<EnvironmentState*>(info.Data());
  return state->AwaitAnswer(info[0].As<Napi::String>(), deferred) ? Napi::Value(env, done)
                                                                  : env.Undefined();
}

// Returns true if it has locked the open file for this descriptor, alone or (true) with others.
Napi::Value LockFileOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsNumber()) {
    Reader(env).Fail({ErrorCode::kInvalidType, "Expected a file descriptor", ""});
    return env.Undefined();
  }
  const bool is_shared = info[1].IsBoolean() && info[1].As<Napi::Boolean>();
  const auto locked = LockFile(info[0].As<Napi::Number>().Int32Value(),
                               is_shared ? LockKind::kShared : LockKind::kExclusive);
  if (locked) return Napi::Boolean::New(env, locked.value());
  napi_value error = MakeFileError(env, locked.error(), {});
  if (error != nullptr) napi_throw(env, error);
  return env.Undefined();
}

// Returns, as bytes, the state that changes whenever an entry does: of an open file, or of the
// entry at a path.
Napi::Value EntryStateOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const bool is_open = info[0].IsNumber();
  if (!is_open && !info[0].IsString()) {
    Reader(env).Fail({ErrorCode::kInvalidType, "Expected a file descriptor or a path", ""});
    return env.Undefined();
  }
  const std::string path = is_open ? std::string() : std::string(info[0].As<Napi::String>());
  const auto state =
      is_open ? StateOf(info[0].As<Napi::Number>().Int32Value(), "", "fstat") : StateAt(path);
  if (!state) {
    napi_value error = MakeFileError(env, state.error(), {.path = path, .to = {}});
    if (error != nullptr) napi_throw(env, error);
    return env.Undefined();
  }
  ValueBuilder builder(env);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(state.value().data());
  napi_value made = builder.CopiedBytes(bytes, sizeof(EntryState));
  return builder.ok() ? Napi::Value(env, made) : env.Undefined();
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  EnvironmentState* state = EnvironmentState::Create(env);
  if (state == nullptr) return exports;
  exports.Set("configure", Napi::Function::New(env, Configure, "configure", state));
  ValueBuilder builder(env);
  builder.Set(exports, "reportFields", ReportFieldNames(builder));
  exports.Set("buildBubblewrapArgv",
              Napi::Function::New(env, BuildBubblewrapArgv, "buildBubblewrapArgv"));
  exports.Set("answerNetworkQuestion",
              Napi::Function::New(env, AnswerNetworkQuestion, "answerNetworkQuestion", state));
  exports.Set("openTerminator", Napi::Function::New(env, OpenTerminator, "openTerminator", state));
  exports.Set("landlockAbi", Napi::Function::New(env, LandlockAbiOf, "landlockAbi"));
  exports.Set("controlGroup", Napi::Function::New(env, ControlGroup, "controlGroup"));
  exports.Set("findProgram", Napi::Function::New(env, FindProgramOf, "findProgram", state));
  exports.Set("expectAnswer", Napi::Function::New(env, ExpectAnswer, "expectAnswer", state));
  exports.Set("silentMounts", Napi::Function::New(env, SilentMounts, "silentMounts", state));
  exports.Set("awaitAnswer", Napi::Function::New(env, AwaitAnswer, "awaitAnswer", state));
  exports.Set("lockFile", Napi::Function::New(env, LockFileOf, "lockFile"));
  exports.Set("entryState", Napi::Function::New(env, EntryStateOf, "entryState"));
  DefinePathStamps(env, exports, state);
  DefineHostLooks(env, exports, state);
  DefineProcessSandbox(env, exports);
  DefineWorkspaceFiles(env, exports);
  DefineTransaction(env, exports, state);
  DefineTransactionList(env, exports);
  DefineLease(env, exports, state);
  DefineRunners(env, exports, state);
  return exports;
}

}  // namespace

NODE_API_MODULE(native_runner, Init)

}  // namespace native_runner
