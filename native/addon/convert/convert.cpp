#include "addon/convert/convert.h"

#include <utility>

#include "addon/values/js_error.h"
#include "policy/options/validate.h"
#include "policy/options/workspace_path.h"

namespace native_runner {
namespace {

EnvironmentPolicy ReadEnvironmentPolicy(Reader& reader, const Napi::Object& options) {
  EnvironmentPolicy policy;
  const auto value = reader.Value(options, "envPolicy");
  if (!value) return policy;
  if (value->IsArray()) {
    policy.mode = EnvironmentPolicy::Mode::kNames;
    policy.names = reader.Strings(options, "envPolicy", "envPolicy").value_or(policy.names);
    return policy;
  }
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "scrub") return policy;
  if (text == "inherit") {
    policy.mode = EnvironmentPolicy::Mode::kInherit;
  } else if (text == "clean") {
    policy.mode = EnvironmentPolicy::Mode::kClean;
  } else {
    reader.Fail({ErrorCode::kInvalidValue,
                 "Expected `envPolicy` to be \"scrub\", \"inherit\", \"clean\" or an array of "
                 "variable names, got " +
                     Describe(*value),
                 ""});
  }
  return policy;
}

std::string ReadRequired(Reader& reader, const Napi::Object& from, const char* key) {
  auto text = reader.String(from, key, key);
  if (!text && !reader.failed()) reader.FailType(key, "a string", from.Env().Undefined());
  return std::move(text).value_or("");
}

std::vector<std::string> ReadStrings(Reader& reader, const Napi::Object& from, const char* key) {
  return reader.Strings(from, key, key).value_or(std::vector<std::string>());
}

void ReadLimit(Reader& reader, const Napi::Object& limits, const char* key, auto* into) {
  const std::string label = std::string("limits.") + key;
  const auto number = reader.Number(limits, key, label);
  if (!number) return;
  const auto value = LimitValue(*number, label);
  if (value) {
    *into = value.value();
  } else {
    reader.Fail(value.error());
  }
}

Limits ReadLimits(Reader& reader, const Napi::Object& input) {
  Limits limits;
  const auto object = reader.Field(input, "limits", "limits");
  if (!object) return limits;
  ReadLimit(reader, *object, "maxStdoutBytes", &limits.max_stdout_bytes);
  ReadLimit(reader, *object, "maxStderrBytes", &limits.max_stderr_bytes);
  ReadLimit(reader, *object, "memoryBytes", &limits.memory_bytes);
  ReadLimit(reader, *object, "cpuSeconds", &limits.cpu_seconds);
  ReadLimit(reader, *object, "maxProcesses", &limits.max_processes);
  ReadLimit(reader, *object, "maxOpenFiles", &limits.max_open_files);
  ReadLimit(reader, *object, "maxFileBytes", &limits.max_file_bytes);
  if (const auto number = reader.Number(*object, "timeoutMs", "limits.timeoutMs")) {
    const auto timeout = TimeoutValue(*number);
    if (timeout) {
      limits.timeout_ms = timeout.value();
    } else {
      reader.Fail(timeout.error());
    }
  }
  if (const auto keep = reader.Value(*object, "keep")) {
    const std::string text = keep->IsString() ? keep->As<Napi::String>().Utf8Value() : "";
    if (text == "head+tail") {
      limits.keep = Keep::kHeadTail;
    } else if (text != "head") {
      reader.Fail({ErrorCode::kInvalidValue,
                   "Expected `limits.keep` to be \"head\" or \"head+tail\", got " + Describe(*keep),
                   ""});
    }
  }
  return limits;
}

// The values are looked at only once all the types were right.
template <typename Policy>
std::optional<Policy> Checked(Reader& reader, Policy policy) {
  if (!reader.failed()) reader.FailIf(CheckPolicy(policy));
  if (reader.failed()) return std::nullopt;
  return policy;
}

}  // namespace

Network ReadNetwork(Reader& reader, const Napi::Object& options, Network fallback) {
  const auto value = reader.Value(options, "network");
  if (!value) return fallback;
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "allow") return Network::kAllow;
  if (text == "deny") return Network::kDeny;
  reader.Fail({ErrorCode::kInvalidValue,
               "Expected `network` to be \"allow\" or \"deny\", got " + Describe(*value), ""});
  return fallback;
}

Isolation ReadIsolation(Reader& reader, const Napi::Object& options) {
  const auto value = reader.Value(options, "isolation");
  if (!value) return Isolation::kStrict;
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "strict") return Isolation::kStrict;
  if (text == "compat") return Isolation::kCompat;
  reader.Fail({ErrorCode::kInvalidValue,
               "Expected `isolation` to be \"strict\" or \"compat\", got " + Describe(*value), ""});
  return Isolation::kStrict;
}

std::optional<BubblewrapPolicy> ReadBubblewrapPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  BubblewrapPolicy policy;
  policy.bwrap_path = reader.String(*options, "bwrapPath", "bwrapPath").value_or(policy.bwrap_path);
  policy.shadow_dir = ReadRequired(reader, *options, "shadowDir");
  auto ro_binds = reader.Strings(*options, "roBinds", "roBinds");
  policy.ro_binds_named = ro_binds.has_value();
  policy.ro_binds = std::move(ro_binds).value_or(DefaultRoBinds());
  policy.network = ReadNetwork(reader, *options, Network::kDeny);
  policy.isolation = ReadIsolation(reader, *options);
  policy.environment = ReadEnvironmentPolicy(reader, *options);
  policy.required = ReadStrings(reader, *options, "required");
  policy.extra_args = ReadStrings(reader, *options, "extraArgs");
  policy.with_proc = reader.Boolean(*options, "procBind", "procBind").value_or(true);
  policy.with_dev = reader.Boolean(*options, "devBind", "devBind").value_or(true);
  policy.write_workspace =
      reader.Boolean(*options, "allowWriteWorkspace", "allowWriteWorkspace").value_or(true);
  for (const std::string& layer : ReadStrings(reader, *options, "layers")) {
    if (layer == "landlock") {
      policy.with_landlock = true;
    } else {
      reader.Fail({ErrorCode::kInvalidValue,
                   "Expected `layers` to hold \"landlock\" only, got \"" + layer + "\"", ""});
    }
  }
  return Checked(reader, std::move(policy));
}

std::optional<ProjectPolicy> ReadProjectPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  ProjectPolicy policy;
  policy.bwrap_path = reader.String(*options, "bwrapPath", "bwrapPath").value_or(policy.bwrap_path);
  policy.folders = ReadStrings(reader, *options, "folders");
  policy.projects = ReadStrings(reader, *options, "projects");
  policy.secrets = ReadStrings(reader, *options, "secrets");
  policy.read_only = ReadStrings(reader, *options, "readOnly");
  policy.network = ReadNetwork(reader, *options, Network::kDeny);
  policy.disable_userns = reader.Boolean(*options, "disableUserns", "disableUserns").value_or(true);
  policy.host_proc = reader.Boolean(*options, "hostProc", "hostProc").value_or(false);
  policy.environment = ReadEnvironmentPolicy(reader, *options);
  return Checked(reader, std::move(policy));
}

std::optional<LandlockPolicy> ReadLandlockPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  LandlockPolicy policy;
  policy.shadow_dir = ReadRequired(reader, *options, "shadowDir");
  auto reads = reader.Strings(*options, "fsReadDirs", "fsReadDirs");
  auto writes = reader.Strings(*options, "fsWriteDirs", "fsWriteDirs");
  policy.read_dirs_named = reads.has_value();
  policy.write_dirs_named = writes.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultReadDirs());
  policy.write_dirs = std::move(writes).value_or(DefaultWriteDirs());
  policy.read_workspace =
      reader.Boolean(*options, "allowReadWorkspace", "allowReadWorkspace").value_or(true);
  policy.write_workspace =
      reader.Boolean(*options, "allowWriteWorkspace", "allowWriteWorkspace").value_or(true);
  policy.network = ReadNetwork(reader, *options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(reader, *options);
  policy.required = ReadStrings(reader, *options, "required");
  return Checked(reader, std::move(policy));
}

std::optional<FirejailPolicy> ReadFirejailPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  FirejailPolicy policy;
  policy.firejail_path =
      reader.String(*options, "firejailPath", "firejailPath").value_or(policy.firejail_path);
  policy.shadow_dir = ReadRequired(reader, *options, "shadowDir");
  policy.profile = reader.String(*options, "profile", "profile");
  auto reads = reader.Strings(*options, "fsReadDirs", "fsReadDirs");
  policy.read_dirs_named = reads.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultFirejailReadDirs());
  policy.write_dirs = ReadStrings(reader, *options, "fsWriteDirs");
  policy.extra_args = ReadStrings(reader, *options, "extraArgs");
  policy.network = ReadNetwork(reader, *options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(reader, *options);
  policy.required = ReadStrings(reader, *options, "required");
  return Checked(reader, std::move(policy));
}

std::optional<LocalPolicy> ReadLocalPolicy(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  LocalPolicy policy;
  policy.shadow_dir = ReadRequired(reader, *options, "shadowDir");
  policy.environment = ReadEnvironmentPolicy(reader, *options);
  return Checked(reader, std::move(policy));
}

std::optional<std::size_t> ReadMaxConcurrent(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  const auto number = reader.Number(*options, "maxConcurrent", "maxConcurrent");
  if (!number) return std::nullopt;
  const auto width = LimitValue(*number, "maxConcurrent");
  if (width && width.value() >= 1) return static_cast<std::size_t>(width.value());
  reader.Fail({ErrorCode::kOutOfRange,
               "Expected `maxConcurrent` to be an integer from 1 on, got " +
                   Describe(options->Get("maxConcurrent")),
               ""});
  return std::nullopt;
}

std::optional<PoolRule> ReadPrewarm(Reader& reader, const Napi::Value& value,
                                    const BubblewrapPolicy& policy) {
  constexpr std::uint64_t kMost = 64;
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  PoolRule rule;
  const auto fail = [&](const char* key, ErrorCode code, const std::string& expected) {
    reader.Fail({code,
                 "Expected `" + std::string(key) + "` to be " + expected + ", got " +
                     Describe(options->Get(key)),
                 ""});
    return std::nullopt;
  };
  if (const auto number = reader.Number(*options, "prewarm", "prewarm")) {
    const auto size = LimitValue(*number, "prewarm");
    if (!size || size.value() > kMost) {
      return fail("prewarm", ErrorCode::kOutOfRange, "an integer from 0 to 64");
    }
    if (size.value() > 0 && !CanStand(policy)) {
      return fail("prewarm", ErrorCode::kInvalidValue,
                  "0 or left out with `extraArgs` or isolation \"compat\"");
    }
    rule.size = static_cast<std::size_t>(size.value());
  }
  if (const auto number = reader.Number(*options, "prewarmIdleMs", "prewarmIdleMs")) {
    const auto idle = LimitValue(*number, "prewarmIdleMs");
    if (!idle || idle.value() == 0) {
      return fail("prewarmIdleMs", ErrorCode::kOutOfRange, "an integer from 1 on");
    }
    rule.idle_ms = idle.value();
  }
  const bool is_off = rule.size == std::size_t{0} || !CanStand(policy);
  return is_off ? std::nullopt : std::optional(rule);
}

std::optional<ExecRequest> ReadExecInput(Reader& reader, const Napi::Value& value,
                                         const Napi::Object& context, const InputRules& rules) {
  const auto input = reader.Object(value, "input");
  if (!input) return std::nullopt;
  ExecRequest request;
  auto argv = reader.Strings(*input, "argv", "argv");
  if (!argv && !reader.failed()) {
    reader.FailType("argv", "an array of strings",
                    reader.Value(*input, "argv").value_or(input->Env().Undefined()));
  }
  if (argv) {
    request.argv = std::move(*argv);
    reader.FailIf(CheckArgv(request.argv));
  }
  request.cwd = reader.String(*input, "cwd", "cwd").value_or("");
  const auto named = reader.Variables(*input, "env", "env").value_or(std::vector<Variable>());
  for (const Variable& variable : named) {
    reader.FailIf(CheckVariable(variable));
    request.named_environment.push_back(variable.first + "=" + variable.second);
  }
  request.stdin_bytes =
      reader.Uint8Array(*input, "stdin", "stdin").value_or(std::vector<std::uint8_t>());
  request.limits = ReadLimits(reader, *input);
  request.stream_stdout = reader.Function(*input, "onStdout", "onStdout").has_value();
  request.stream_stderr = reader.Function(*input, "onStderr", "onStderr").has_value();
  if (reader.failed()) return std::nullopt;

  const auto relative = WorkspaceRelative(request.cwd, rules.cwd_label);
  if (!relative) {
    reader.Fail(relative.error());
    return std::nullopt;
  }
  const std::string pwd = rules.in_workspace ? JoinPath(kWorkspace, relative.value()) : "";
  request.is_aborted = reader.Boolean(context, "isAborted", "context.isAborted").value_or(false);
  auto given = reader.Variables(context, "environment", "context.environment");
  if (reader.failed()) return std::nullopt;
  request.environment =
      given ? BuildEnvironment(PassedVariables(*rules.environment, *given), named, pwd)
            : BuildEnvironment(rules.host->PassedBy(*rules.environment), named, pwd);
  return request;
}

std::optional<ArgvOptions> ReadArgvOptions(Reader& reader, const Napi::Value& value) {
  auto policy = ReadBubblewrapPolicy(reader, value);
  if (!policy) return std::nullopt;
  const auto options = value.As<Napi::Object>();
  ArgvOptions read;
  read.policy = std::move(*policy);
  auto command = reader.Strings(options, "commandArgv", "commandArgv");
  if (!command && !reader.failed()) {
    reader.FailType("commandArgv", "an array of strings", options.Env().Undefined());
  }
  if (command) {
    read.command = std::move(*command);
    reader.FailIf(CheckArgv(read.command));
  }
  const auto cwd = reader.String(options, "cwd", "cwd").value_or("");
  if (reader.failed()) return std::nullopt;
  const auto relative = WorkspaceRelative(cwd, "buildBubblewrapArgv");
  if (!relative) {
    reader.Fail(relative.error());
    return std::nullopt;
  }
  read.cwd = JoinPath(kWorkspace, relative.value());
  return read;
}

}  // namespace native_runner
