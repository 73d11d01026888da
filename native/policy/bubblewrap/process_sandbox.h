#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// Bubblewrap around a process that the host starts itself, such as a WASM engine: a run's policy
// and options as a plain command line. Pure: looks nothing up on the host.

// The command that the host would start without a sandbox.
struct ProcessCommand {
  std::string cmd;
  std::vector<std::string> args;
  std::vector<HostMount> mounts;
};

struct ProcessSandboxPolicy {
  BubblewrapPolicy sandbox;  // shadow_dir is not used: the command's mounts define what is shown
  std::string cwd_label = "shadow-workspace";  // the process starts in the mount with this label
};

// Return kInvalidValue, naming the field, for an empty program, a path that is not absolute, or a
// NUL byte.
std::optional<Error> CheckPolicy(const ProcessSandboxPolicy& policy);
std::optional<Error> CheckCommand(const ProcessCommand& command);

// Returns `argument` with a mount's host path at its start replaced by the guest path. Matches
// whole components; the longest host path wins. Leaves an argument alone that only contains a path
// ("--dir=/host") or climbs out of the mount by "..".
std::string GuestArgument(std::string_view argument, const std::vector<HostMount>& mounts);

// Returns all words after bwrap's own name. With strict isolation the sandbox's /proc is read-only,
// because bwrap leaves /proc/sys writable for uid 0.
std::vector<std::string> ProcessSandboxArgs(const ProcessSandboxPolicy& policy,
                                            const ProcessCommand& command);

}  // namespace native_runner
