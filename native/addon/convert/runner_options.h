#pragma once

#include <napi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/session/session.h"

namespace native_runner {

// Read a runner's options as its policy: read and copied once, types and values checked. The result
// must not be used after a fault.
BubblewrapPolicy ReadBubblewrapPolicy(Fields& options);
ProjectPolicy ReadProjectPolicy(Fields& options);
LandlockPolicy ReadLandlockPolicy(Fields& options);
FirejailPolicy ReadFirejailPolicy(Fields& options);
LocalPolicy ReadLocalPolicy(Fields& options);

// Returns `network.onRequest`; called after ReadNetworkChoice has read the rules.
std::optional<Napi::Function> ReadOnRequest(Fields& options);

// The options of buildBubblewrapArgv. Must not be used after a fault.
struct ArgvOptions {
  BubblewrapPolicy policy;
  std::string cwd;  // absolute, inside the sandbox
  std::vector<std::string> command;
};
ArgvOptions ReadArgvOptions(Fields& options);

// Read the options of createBubblewrapProcessSandbox, and a command for its wrap(). The result must
// not be used after a fault.
ProcessSandboxPolicy ReadProcessSandboxPolicy(Fields& options);
ProcessCommand ReadProcessCommand(Fields& command);

// Reads maxConcurrent: an integer >= 1; nullopt if it was not given.
std::optional<std::size_t> ReadMaxConcurrent(Fields& options);

// Reads prewarm (0..64), prewarmIdleMs and clone ("auto", "never"): the number of prewarmed
// sandboxes for a runner of this policy, and if they are clones. nullopt: no prewarmed sandboxes
// and no clones.
std::optional<PoolRule> ReadPrewarm(Fields& options, const BubblewrapPolicy& policy);

// Reads the options of openSession: idleTimeoutMs (> 0, Infinity; default 5 minutes), maxCommands
// and tmpBytes (integers >= 1), shell (a boolean).
SessionRule ReadSessionRule(Fields& options);

}  // namespace native_runner
