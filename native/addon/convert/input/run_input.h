#pragma once

#include <napi.h>

#include <optional>
#include <string_view>

#include "addon/convert/fields.h"
#include "addon/convert/input/host_environment.h"
#include "addon/convert/input/run_context.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"

namespace native_runner {

// What differs between the runners when an input is read.
struct InputRules {
  const EnvironmentPolicy* environment = nullptr;
  HostEnvironment* host = nullptr;
  std::string_view cwd_label;  // how messages about `cwd` start
  bool in_workspace = false;   // PWD is below /workspace; else it is only known when the run starts
};

// The input of exec or spawn, read and copied once. What comes back after a fault is not to be
// used.
struct RunInput {
  ExecRequest request;
  std::optional<Napi::Function> on_stdout;
  std::optional<Napi::Function> on_stderr;
  std::optional<Napi::Function> on_event;
};

RunInput ReadExecInput(Fields& input, const RunContext& context, const InputRules& rules);

// Of spawn: without a default deadline, and with `pty`.
RunInput ReadSpawnInput(Fields& input, const RunContext& context, const InputRules& rules);

}  // namespace native_runner
