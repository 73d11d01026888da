#pragma once

#include <napi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "addon/convert/host_environment.h"
#include "addon/convert/reader.h"
#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/sandbox/port_waits.h"
#include "supervise/session/session.h"

namespace native_runner {

// JavaScript options and inputs as plain structs, read and copied once. Every fault has been thrown
// into JavaScript when nullopt comes back.
std::optional<BubblewrapPolicy> ReadBubblewrapPolicy(Reader& reader, const Napi::Value& options);
std::optional<ProjectPolicy> ReadProjectPolicy(Reader& reader, const Napi::Value& options);
std::optional<LandlockPolicy> ReadLandlockPolicy(Reader& reader, const Napi::Value& options);
std::optional<FirejailPolicy> ReadFirejailPolicy(Reader& reader, const Napi::Value& options);
std::optional<LocalPolicy> ReadLocalPolicy(Reader& reader, const Napi::Value& options);

// Single options; "network" is the fallback and "isolation" strict when they were not given.
Network ReadNetwork(Reader& reader, const Napi::Object& options, Network fallback);
Isolation ReadIsolation(Reader& reader, const Napi::Object& options);

// maxConcurrent: an integer >= 1, or nullopt when it was not given.
std::optional<std::size_t> ReadMaxConcurrent(Reader& reader, const Napi::Value& options);

// prewarm (0..64) and prewarmIdleMs: how many sandboxes are to stand for a runner of this policy.
// nullopt: none.
std::optional<PoolRule> ReadPrewarm(Reader& reader, const Napi::Value& options,
                                    const BubblewrapPolicy& policy);

// What openSession was given: idleTimeoutMs (> 0, Infinity; default 5 minutes), maxCommands and
// tmpBytes (integers >= 1), shell (a boolean).
std::optional<SessionRule> ReadSessionRule(Reader& reader, const Napi::Value& options);

// What differs between the runners when an input is read.
struct InputRules {
  const EnvironmentPolicy* environment = nullptr;
  HostEnvironment* host = nullptr;
  std::string_view cwd_label;  // how messages about `cwd` start
  bool in_workspace = false;   // PWD is below /workspace; else it is only known when the run starts
};

// `context.environment` replaces the host's environment where JavaScript keeps its own (workers).
std::optional<ExecRequest> ReadExecInput(Reader& reader, const Napi::Value& input,
                                         const Napi::Object& context, const InputRules& rules);

// As ReadExecInput, of spawn: without a default deadline, and with `pty`.
std::optional<ExecRequest> ReadSpawnInput(Reader& reader, const Napi::Value& input,
                                          const Napi::Object& context, const InputRules& rules);

// `cols` and `rows`, each an integer from 1 to 65535; called LABEL.cols and LABEL.rows.
std::optional<TerminalSize> ReadTerminalSize(Reader& reader, const Napi::Value& value,
                                             std::string_view label);

// A port (an integer from 1 to 65535), and of the options timeoutMs (> 0, Infinity; default 30 000)
// and intervalMs (an integer from 1 on; default 50).
std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options);

// The options of buildBubblewrapArgv.
struct ArgvOptions {
  BubblewrapPolicy policy;
  std::string cwd;  // absolute, inside the sandbox
  std::vector<std::string> command;
};
std::optional<ArgvOptions> ReadArgvOptions(Reader& reader, const Napi::Value& options);

}  // namespace native_runner
