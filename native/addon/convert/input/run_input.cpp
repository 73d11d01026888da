#include "addon/convert/input/run_input.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/input/limits.h"
#include "addon/convert/input/terminal_size.h"
#include "policy/options/validate.h"
#include "policy/options/workspace_path.h"

namespace native_runner {
namespace {

// A boolean, or "lookups".
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

// What exec and spawn have in common.
RunInput ReadCommand(Fields& input, std::optional<std::uint64_t> deadline) {
  RunInput read;
  ExecRequest& request = read.request;
  request.argv = input.RequiredStrings("argv");
  if (!input.reader().failed()) input.reader().FailIf(CheckArgv(request.argv));
  request.cwd = input.String("cwd").value_or("");
  input.Object("limits", [&](Fields& limits) { request.limits = ReadLimits(limits, deadline); });
  read.on_stdout = input.Function("onStdout");
  read.on_stderr = input.Function("onStderr");
  input.Know("signal");  // lib's
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

// 0: separate, 1: merged with stdout.
std::optional<std::size_t> ReadStderr(Fields& input) {
  return input.OneOf("stderr", {"separate", "merge"});
}

// What the command is given of its surroundings.
void Complete(Fields& input, ExecRequest& request, const std::vector<Variable>& named,
              const RunContext& context, const InputRules& rules) {
  if (input.reader().failed()) return;
  const auto relative = WorkspaceRelative(request.cwd, rules.cwd_label);
  if (!relative) {
    input.reader().Fail(relative.error());
    return;
  }
  const std::string pwd = rules.in_workspace ? JoinPath(kWorkspace, relative.value()) : "";
  for (const Variable& variable : named)
    request.named_environment.push_back(variable.first + "=" + variable.second);
  request.is_aborted = context.is_aborted;
  request.advice = context.advice;
  request.environment =
      context.environment
          ? BuildEnvironment(PassedVariables(*rules.environment, *context.environment), named, pwd)
          : BuildEnvironment(rules.host->PassedBy(*rules.environment), named, pwd);
}

// TERM is of the terminal that is made, never of the one that the host was started from.
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
  LiveRequest& live = read.request.live.emplace();
  std::string terminal_name;
  input.Object("pty", [&](Fields& pty) {
    const TerminalSize size = ReadTerminalSize(pty);
    terminal_name = ReadTerminalName(pty);
    if (pty.given()) live.terminal = size;
  });
  const auto error_output = ReadStderr(input);
  read.request.merge_stderr = error_output == 1;
  if (live.terminal && error_output) {
    input.reader().Fail({ErrorCode::kInvalidValue,
                         "Expected `stderr` to be left out with `pty`: a terminal is one stream",
                         ""});
  }
  Complete(input, read.request, named, context, rules);
  if (live.terminal) SetTerminalName(terminal_name, named, read.request.environment);
  return read;
}

}  // namespace native_runner
