#include "addon/runners/process_sandbox.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/convert.h"
#include "addon/values/js_error.h"
#include "addon/values/value_builder.h"
#include "policy/bubblewrap/process_sandbox.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

std::optional<ProcessSandboxPolicy> ReadPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  ProcessSandboxPolicy policy;
  BubblewrapPolicy& sandbox = policy.sandbox;
  const auto text = [&reader, &options](const char* key, std::string* into) {
    *into = reader.String(*options, key, key).value_or(*into);
  };
  text("bwrapPath", &sandbox.bwrap_path);
  text("procPath", &sandbox.proc_path);
  text("devPath", &sandbox.dev_path);
  text("tmpPath", &sandbox.tmp_path);
  text("defaultCwdLabel", &policy.cwd_label);
  auto ro_binds = reader.Strings(*options, "roBinds", "roBinds");
  sandbox.ro_binds_named = ro_binds.has_value();
  sandbox.ro_binds = std::move(ro_binds).value_or(DefaultRoBinds());
  sandbox.network = ReadNetwork(reader, *options, Network::kAllow);
  sandbox.isolation = ReadIsolation(reader, *options);
  if (!reader.failed()) reader.FailIf(CheckPolicy(policy));
  if (reader.failed()) return std::nullopt;
  return policy;
}

// A field that must be there.
std::string ReadText(Reader& reader, const Napi::Object& from, const char* key,
                     const std::string& label) {
  auto text = reader.String(from, key, label);
  if (!text) reader.FailType(label, "a string", from.Env().Undefined());
  return std::move(text).value_or("");
}

// One of two words; a fault names both.
bool IsFirst(Reader& reader, const Napi::Object& from, const char* key, const std::string& label,
             const std::string& first, const std::string& second) {
  const auto value = reader.Value(from, key);
  const std::string text = value && value->IsString() ? std::string(value->As<Napi::String>()) : "";
  if (text == first || text == second) return text == first;
  std::string wanted = "\"" + first + "\"";
  if (!second.empty()) wanted += " or \"" + second + "\"";
  reader.Fail({ErrorCode::kInvalidValue,
               "Expected `" + label + "` to be " + wanted + ", got " +
                   Describe(value.value_or(from.Env().Undefined())),
               ""});
  return false;
}

ProcessMount ReadMount(Reader& reader, const Napi::Value& value, const std::string& label) {
  ProcessMount mount;
  const auto object = reader.Object(value, label);
  if (!object) return mount;
  IsFirst(reader, *object, "kind", label + ".kind", "dir", "");
  mount.label = reader.String(*object, "label", label + ".label");
  mount.host_path = ReadText(reader, *object, "hostPath", label + ".hostPath");
  mount.guest_path = ReadText(reader, *object, "guestPath", label + ".guestPath");
  mount.writable = IsFirst(reader, *object, "mode", label + ".mode", "rw", "ro");
  return mount;
}

std::vector<ProcessMount> ReadMounts(Reader& reader, const Napi::Object& command) {
  std::vector<ProcessMount> mounts;
  const auto value = reader.Value(command, "mounts");
  if (!value) return mounts;
  if (!value->IsArray()) {
    reader.FailType("mounts", "an array of objects", *value);
    return mounts;
  }
  const auto array = value->As<Napi::Array>();
  const std::uint32_t length = array.Length();
  mounts.reserve(length);
  for (std::uint32_t i = 0; i < length && !reader.failed(); ++i)
    mounts.push_back(ReadMount(reader, array.Get(i), "mounts[" + std::to_string(i) + "]"));
  return mounts;
}

std::optional<ProcessCommand> ReadCommand(Reader& reader, const Napi::Value& value) {
  const auto object = reader.Object(value, "command");
  if (!object) return std::nullopt;
  ProcessCommand command;
  command.cmd = ReadText(reader, *object, "cmd", "cmd");
  auto args = reader.Strings(*object, "args", "args");
  if (!args) reader.FailType("args", "an array of strings", object->Env().Undefined());
  command.args = std::move(args).value_or(std::vector<std::string>());
  command.mounts = ReadMounts(reader, *object);
  // They pass through untouched, but what nothing can be started with is said here.
  const auto env = reader.Variables(*object, "env", "env").value_or(std::vector<Variable>());
  for (const Variable& variable : env)
    reader.FailIf(CheckVariable(variable));
  reader.String(*object, "cwd", "cwd");
  if (!reader.failed()) reader.FailIf(CheckCommand(command));
  if (reader.failed()) return std::nullopt;
  return command;
}

class ProcessSandboxObject : public Napi::ObjectWrap<ProcessSandboxObject> {
 public:
  explicit ProcessSandboxObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<ProcessSandboxObject>(info) {
    Reader reader(info.Env());
    if (auto policy = ReadPolicy(reader, info[0])) policy_ = std::move(*policy);
  }

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "BubblewrapProcessSandbox",
                       {InstanceMethod("wrap", &ProcessSandboxObject::Wrap)});
  }

 private:
  Napi::Value Wrap(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    Reader reader(env);
    const auto command = ReadCommand(reader, info[0]);
    if (!command) return env.Undefined();
    ValueBuilder builder(env);
    napi_value wrapped = builder.Object();
    builder.Set(wrapped, "cmd", builder.String(policy_.sandbox.bwrap_path));
    builder.Set(wrapped, "args", builder.Strings(ProcessSandboxArgs(policy_, *command)));
    return builder.ok() ? Napi::Value(env, wrapped) : env.Undefined();
  }

  ProcessSandboxPolicy policy_;
};

}  // namespace

void DefineProcessSandbox(Napi::Env env, Napi::Object exports) {
  exports.Set("BubblewrapProcessSandbox", ProcessSandboxObject::Define(env));
}

}  // namespace native_runner
