#include "addon/runners/process_sandbox.h"

#include "addon/convert/options/process_sandbox_options.h"
#include "addon/values/value_builder.h"
#include "policy/bubblewrap/process_sandbox.h"

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

}  // namespace native_runner
