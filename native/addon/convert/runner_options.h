#pragma once

#include <napi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/bubblewrap/process_sandbox.h"
#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/session/session.h"

namespace native_runner {

// A runner's options as its policy: read and copied once, types and values checked. What comes back
// after a fault is not to be used.
BubblewrapPolicy ReadBubblewrapPolicy(Fields& options);
ProjectPolicy ReadProjectPolicy(Fields& options);
LandlockPolicy ReadLandlockPolicy(Fields& options);
FirejailPolicy ReadFirejailPolicy(Fields& options);
LocalPolicy ReadLocalPolicy(Fields& options);

// `network.onRequest`, after ReadNetworkChoice has found the rules to ask.
std::optional<Napi::Function> ReadOnRequest(Fields& options);

// The options of buildBubblewrapArgv. What comes back after a fault is not to be used.
struct ArgvOptions {
  BubblewrapPolicy policy;
  std::string cwd;  // absolute, inside the sandbox
  std::vector<std::string> command;
};
ArgvOptions ReadArgvOptions(Fields& options);

// The options of createBubblewrapProcessSandbox, and a command for its wrap(). What comes back
// after a fault is not to be used.
ProcessSandboxPolicy ReadProcessSandboxPolicy(Fields& options);
ProcessCommand ReadProcessCommand(Fields& command);

// maxConcurrent: an integer >= 1, or nullopt when it was not given.
std::optional<std::size_t> ReadMaxConcurrent(Fields& options);

// prewarm (0..64), prewarmIdleMs and clone ("auto", "never"): how many sandboxes are to stand for a
// runner of this policy, and whether they are clones. nullopt: none stands, and none is a clone.
std::optional<PoolRule> ReadPrewarm(Fields& options, const BubblewrapPolicy& policy);

// What openSession was given: idleTimeoutMs (> 0, Infinity; default 5 minutes), maxCommands and
// tmpBytes (integers >= 1), shell (a boolean).
SessionRule ReadSessionRule(Fields& options);

}  // namespace native_runner
