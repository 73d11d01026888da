#include "addon/convert/run_input.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

#include "addon/values/value_builder.h"
#include "policy/options/request.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

void ReadLimit(Fields& limits, const char* key, auto* into) {
  const auto number = limits.Number(key);
  if (!number) return;
  const auto value = LimitValue(*number, limits.Label(key));
  if (value) {
    *into = value.value();
  } else {
    limits.reader().Fail(value.error());
  }
}

// Reads the limits of one run. `deadline`: used without timeoutMs; nullopt: no deadline.
Limits ReadLimits(Fields& limits, std::optional<std::uint64_t> deadline) {
  Limits read;
  read.timeout_ms = deadline;
  ReadLimit(limits, "maxStdoutBytes", &read.max_stdout_bytes);
  ReadLimit(limits, "maxStderrBytes", &read.max_stderr_bytes);
  ReadLimit(limits, "memoryBytes", &read.memory_bytes);
  ReadLimit(limits, "cpuSeconds", &read.cpu_seconds);
  ReadLimit(limits, "maxProcesses", &read.max_processes);
  ReadLimit(limits, "maxOpenFiles", &read.max_open_files);
  ReadLimit(limits, "maxFileBytes", &read.max_file_bytes);
  read.cpu_share = limits.Integer("cpuShare", 1, kMostCpuShare);
  read.io_share = limits.Integer("ioShare", 1, kMostIoShare);
  ReadLimit(limits, "writeBytes", &read.write_bytes);
  ReadLimit(limits, "reserveBytes", &read.reserve_bytes);
  if (const auto number = limits.Number("timeoutMs")) {
    const auto timeout = TimeoutValue(*number);
    if (timeout) {
      read.timeout_ms = timeout.value();
    } else {
      limits.reader().Fail(timeout.error());
    }
  }
  if (limits.OneOf("keep", {"head", "head+tail"}) == 1) read.keep = Keep::kHeadTail;
  return read;
}

}  // namespace

TerminalSize ReadTerminalSize(Fields& size) {
  TerminalSize read;
  const auto one = [&size](const char* key, std::uint16_t* into) {
    if (const auto count = size.Integer(key, 1, UINT16_MAX)) {
      *into = static_cast<std::uint16_t>(*count);
    } else if (size.given()) {
      size.FailMissing(key, "an integer from 1 to 65535");
    }
  };
  one("cols", &read.columns);
  one("rows", &read.rows);
  return read;
}

bool HostEnvironment::Unchanged() const {
  std::size_t index = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry, ++index) {
    if (index == seen_.size() || seen_[index] != *entry) return false;
  }
  return index == seen_.size();
}

const std::vector<std::string>& HostEnvironment::PassedBy(
    const EnvironmentPolicy& policy, const std::shared_ptr<const HomeView>& view) {
  if (known_ && view == view_ && Unchanged()) return passed_;
  seen_.clear();
  std::vector<Variable> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    seen_.emplace_back(*entry);
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  passed_ = PassedVariables(policy, variables);
  if (view) passed_ = FitToHome(std::move(passed_), *view);
  view_ = view;
  known_ = true;
  return passed_;
}

namespace {

std::shared_ptr<const AdviceLists> ReadAdvice(Fields& context) {
  std::shared_ptr<const AdviceLists> read;
  context.Object("advice", [&read](Fields& lists) {
    AdviceLists made{
        .homes = lists.Strings("homes").value_or(std::vector<std::string>()),
        .secrets = lists.Strings("secrets").value_or(std::vector<std::string>()),
        .protected_names = lists.Strings("protectedNames").value_or(std::vector<std::string>())};
    if (lists.given()) read = std::make_shared<const AdviceLists>(std::move(made));
  });
  return read;
}

}  // namespace

RunContext ReadRunContext(Fields& context) {
  return {
      .policy_hash = context.String("policyHash").value_or(""),
      .is_aborted = context.Boolean("isAborted").value_or(false),
      .environment = context.Variables("environment"),
      .on_connection = context.Function("onConnection"),
      .terminator_run = context.Integer("terminatorRun", 1).value_or(0),
      .advice = ReadAdvice(context),
  };
}

namespace {

// Reads a boolean, or "lookups".
Explain ReadExplain(Fields& input) {
  constexpr const char* kKey = "explain";
  const auto value = input.Value(kKey);
  if (!value) return Explain::kNo;
  if (value->IsBoolean()) return value->As<Napi::Boolean>().Value() ? Explain::kYes : Explain::kNo;
  if (value->IsString() && value->As<Napi::String>().Utf8Value() == "lookups") {
    return Explain::kLookUps;
  }
  const ErrorCode code = value->IsString() ? ErrorCode::kInvalidValue : ErrorCode::kInvalidType;
  input.Fail(kKey, code, "a boolean or \"lookups\"", *value);
  return Explain::kNo;
}

// Reads the fields that exec and spawn have in common.
RunInput ReadCommand(Fields& input, std::optional<std::uint64_t> deadline) {
  RunInput read;
  ExecRequest& request = read.request;
  request.argv = input.RequiredStrings("argv");
  if (!input.reader().failed()) input.reader().FailIf(CheckArgv(request.argv));
  request.cwd = input.String("cwd").value_or("");
  input.Object("limits", [&](Fields& limits) { request.limits = ReadLimits(limits, deadline); });
  read.on_stdout = input.Function("onStdout");
  read.on_stderr = input.Function("onStderr");
  input.Know("signal");  // read by lib
  request.explain = ReadExplain(input);
  request.stream_stdout = read.on_stdout.has_value();
  request.stream_stderr = read.on_stderr.has_value();
  return read;
}

std::vector<Variable> ReadVariables(Fields& input) {
  auto named = input.Variables("env").value_or(std::vector<Variable>());
  for (const Variable& variable : named)
    input.reader().FailIf(CheckVariable(variable));
  return named;
}

// Returns 0 for separate, 1 for merged with stdout.
std::optional<std::size_t> ReadStderr(Fields& input) {
  return input.OneOf("stderr", {"separate", "merge"});
}

// Fills in the command's environment, and the values that come from `context`.
void Complete(Fields& input, ExecRequest& request, const std::vector<Variable>& named,
              const RunContext& context, const InputRules& rules) {
  if (input.reader().failed()) return;
  if (!rules.workspace.empty()) request.cwd = BelowWorkspace(request.cwd, rules.workspace);
  const auto relative = WorkspaceRelative(request.cwd, rules.cwd_label);
  if (!relative) {
    input.reader().Fail(relative.error());
    return;
  }
  const std::string pwd =
      rules.workspace.empty() ? "" : JoinPath(rules.workspace, relative.value());
  for (const Variable& variable : named)
    request.named_environment.push_back(variable.first + "=" + variable.second);
  request.is_aborted = context.is_aborted;
  request.advice = context.advice;
  request.terminator_run = context.terminator_run;
  if (rules.shown != nullptr) request.home = rules.shown->view();
  if (!context.environment) {
    const auto& passed = rules.host->PassedBy(*rules.environment, request.home);
    request.environment = BuildEnvironment(passed, named, pwd);
    return;
  }
  auto passed = PassedVariables(*rules.environment, *context.environment);
  if (request.home) passed = FitToHome(std::move(passed), *request.home);
  request.environment = BuildEnvironment(passed, named, pwd);
}

// TERM is that of the new terminal, never that of the terminal that the host was started from.
std::string ReadTerminalName(Fields& pty) {
  std::string name = pty.String("term").value_or("xterm-256color");
  pty.reader().FailIf(CheckVariable({"TERM", name}));
  return name;
}

void SetTerminalName(const std::string& name, const std::vector<Variable>& named,
                     std::vector<std::string>& environment) {
  constexpr std::string_view kPrefix = "TERM=";
  const bool is_named = std::any_of(named.begin(), named.end(), [](const Variable& variable) {
    return variable.first == "TERM";
  });
  if (is_named) return;
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(kPrefix); });
  environment.push_back(std::string(kPrefix) + name);
}

}  // namespace

RunInput ReadExecInput(Fields& input, const RunContext& context, const InputRules& rules) {
  RunInput read = ReadCommand(input, Limits().timeout_ms);
  const std::vector<Variable> named = ReadVariables(input);
  read.request.stdin_bytes = input.BytesOrText("stdin").value_or(std::vector<std::uint8_t>());
  read.request.merge_stderr = ReadStderr(input) == 1;
  Complete(input, read.request, named, context, rules);
  return read;
}

RunInput ReadSpawnInput(Fields& input, const RunContext& context, const InputRules& rules) {
  RunInput read = ReadCommand(input, std::nullopt);
  const std::vector<Variable> named = ReadVariables(input);
  read.on_event = input.Function("onEvent");
  SpawnCall spawn;
  std::string terminal_name;
  input.Object("pty", [&](Fields& pty) {
    const TerminalSize size = ReadTerminalSize(pty);
    terminal_name = ReadTerminalName(pty);
    if (pty.given()) spawn.terminal = size;
  });
  input.Object("relay", [&spawn](Fields& relay) {  // lib's own: pipes that it keeps open
    const auto descriptor = [&relay](const char* field) {
      const auto given = relay.Integer(field, 0, INT_MAX);
      return given ? static_cast<int>(*given) : -1;
    };
    spawn.relayed_input = descriptor("stdin");
    spawn.relayed_output = descriptor("stdout");
  });
  const auto error_output = ReadStderr(input);
  read.request.merge_stderr = error_output == 1;
  if (spawn.terminal && error_output) {
    input.reader().Fail({ErrorCode::kInvalidValue,
                         "Expected `stderr` to be left out with `pty`: a terminal is one stream",
                         ""});
  }
  Complete(input, read.request, named, context, rules);
  if (spawn.terminal) SetTerminalName(terminal_name, named, read.request.environment);
  read.request.kind = spawn;
  return read;
}

namespace {

std::uint16_t ReadPort(Reader& reader, const Napi::Value& value) {
  const std::string expected = "Expected `port` to be an integer from 1 to 65535, got ";
  const auto port = value.IsNumber() ? LimitValue(value.As<Napi::Number>().DoubleValue(), "port")
                                     : Result<std::uint64_t>(std::uint64_t{0});
  if (port && port.value() >= 1 && port.value() <= UINT16_MAX) {
    return static_cast<std::uint16_t>(port.value());
  }
  const auto code = value.IsNumber() ? ErrorCode::kOutOfRange : ErrorCode::kInvalidType;
  reader.Fail({code, expected + Describe(value), ""});
  return 0;
}

}  // namespace

std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options) {
  PortWait wait;
  wait.port = ReadPort(reader, port);
  Fields::Of(reader, options, {"options", ""}, [&wait](Fields& fields) {
    if (const auto number = fields.Number("timeoutMs")) {
      const auto timeout = TimeoutValue(*number);
      if (timeout) {
        wait.timeout_ms = timeout.value();
      } else {
        fields.Fail("timeoutMs", ErrorCode::kOutOfRange, "a number greater than 0",
                    *fields.Value("timeoutMs"));
      }
    }
    if (const auto interval = fields.Integer("intervalMs", 1)) wait.interval_ms = *interval;
  });
  return reader.failed() ? std::nullopt : std::optional(wait);
}

std::optional<ForwardRequest> ReadForward(Reader& reader, const Napi::Value& port,
                                          const Napi::Value& options) {
  ForwardRequest request;
  request.port = ReadPort(reader, port);
  Fields::Of(reader, options, {"options", "options."}, [&request](Fields& fields) {
    const auto host = fields.String("host");
    if (!host || *host == "127.0.0.1" || *host == "localhost") {
      request.host = IpAddress::V4(INADDR_LOOPBACK);
    } else if (*host == "::1") {
      request.host = *ParsePlainIpAddress(*host);
    } else {
      fields.Fail("host", ErrorCode::kInvalidValue,
                  "a loopback address (\"127.0.0.1\", \"::1\" or \"localhost\")",
                  *fields.Value("host"));
    }
    if (const auto number = fields.Integer("hostPort", 0, UINT16_MAX))
      request.host_port = static_cast<std::uint16_t>(*number);
  });
  return reader.failed() ? std::nullopt : std::optional(request);
}

namespace {

constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31U) - 1;  // also readFile's in Node
constexpr std::uint64_t kUsualBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 24U;
constexpr std::uint64_t kUsualEntries = 10'000;
constexpr std::uint64_t kMostMode = 0777;

bool IsBytes(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

std::optional<std::vector<std::uint8_t>> BytesOrText(const Napi::Value& value) {
  if (IsBytes(value)) {
    const auto bytes = value.As<Napi::Uint8Array>();
    return std::vector<std::uint8_t>(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  if (!value.IsString()) return std::nullopt;
  const std::string text = value.As<Napi::String>();
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

void FailType(Reader& reader, const char* field, const Napi::Value& value) {
  reader.Fail({ErrorCode::kInvalidType,
               std::string("Expected `") + field + "` to be a string or a Uint8Array, got " +
                   Describe(value),
               ""});
}

std::optional<mode_t> ReadMode(Fields& options) {
  const auto mode = options.Integer("mode", 0, kMostMode);
  return mode ? std::optional(static_cast<mode_t>(*mode)) : std::nullopt;
}

}  // namespace

PathInput ReadPath(Reader& reader, const Napi::Value& value, const PathArgument& argument) {
  const auto bytes = BytesOrText(value);
  if (!bytes) {
    FailType(reader, argument.field, value);
    return {};
  }
  PathInput path;
  path.given.assign(bytes->begin(), bytes->end());
  auto relative = WorkspaceRelative(BelowWorkspace(path.given, argument.workspace),
                                    std::string("files.") + argument.call, argument.field);
  if (relative) {
    path.relative = std::move(relative.value());
  } else {
    reader.Fail(relative.error());
  }
  return path;
}

std::vector<std::uint8_t> ReadData(Reader& reader, const Napi::Value& value) {
  auto bytes = BytesOrText(value);
  if (!bytes) FailType(reader, "data", value);
  return std::move(bytes).value_or(std::vector<std::uint8_t>());
}

std::uint64_t ReadMaxBytes(Fields& options) {
  return options.Integer("maxBytes", 0, kMostBytes).value_or(kUsualBytes);
}

WriteRule ReadWriteRule(Fields& options) {
  WriteRule rule;
  rule.mode = ReadMode(options);
  rule.flush = options.Boolean("flush").value_or(false);
  const auto condition = options.Value("ifUnchanged");
  if (!condition) return rule;
  if (condition->IsNull()) {
    rule.condition = WriteRule::If::kAbsent;
    return rule;
  }
  const std::string text = condition->IsString() ? condition->As<Napi::String>().Utf8Value() : "";
  if (const auto version = FileVersion::Parse(text)) {
    rule.condition = WriteRule::If::kUnchanged;
    rule.version = *version;
  } else {
    options.Fail("ifUnchanged", ErrorCode::kInvalidValue, "the `version` of a stat, or null",
                 *condition);
  }
  return rule;
}

ListRule ReadListRule(Fields& options) {
  ListRule rule;
  rule.recursive = ReadRecursive(options);
  rule.most = options.Integer("maxEntries", 1, kMostEntries).value_or(kUsualEntries);
  return rule;
}

MakeRule ReadMakeRule(Fields& options) {
  MakeRule rule;
  rule.recursive = ReadRecursive(options);
  rule.mode = ReadMode(options).value_or(rule.mode);
  return rule;
}

bool ReadRecursive(Fields& options) {
  return options.Boolean("recursive").value_or(false);
}

std::string ReadWorkspacePath(Fields& options, const std::string& directory) {
  if (options.OneOf("workspacePath", {kWorkspace, "same"}) != 1) return kWorkspace;
  return directory.starts_with('/') && !HasParentComponent(directory) ? NormalPath(directory)
                                                                      : directory;
}

WorkspaceRights ReadWorkspaceRights(Fields& options, std::string* workspace) {
  WorkspaceRights rights;
  std::string directory = options.RequiredString("shadowDir");
  if (!options.reader().failed()) options.reader().FailIf(CheckPath(directory, "shadowDir"));
  *workspace = ReadWorkspacePath(options, directory);
  rights.open = WorkspaceRootAt(std::move(directory));
  rights.may_read = options.Boolean("read").value_or(true);
  rights.may_write = options.Boolean("write").value_or(true);
  return rights;
}

}  // namespace native_runner
