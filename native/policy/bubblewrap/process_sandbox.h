#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// Bubblewrap around a process that the host starts itself, such as a WASM engine: the same policy
// and options as a run's, as a plain command line. Pure; nothing is looked up on the host.

// What the host would have started without a sandbox.
struct ProcessCommand {
  std::string cmd;
  std::vector<std::string> args;
  std::vector<HostMount> mounts;
};

struct ProcessSandboxPolicy {
  BubblewrapPolicy sandbox;  // shadow_dir is not used: the command's mounts say what is shown
  std::string cwd_label = "shadow-workspace";  // the process starts in the mount with this label
};

// kInvalidValue, naming the field: an empty program, a path that is not absolute, a NUL byte.
std::optional<Error> CheckPolicy(const ProcessSandboxPolicy& policy);
std::optional<Error> CheckCommand(const ProcessCommand& command);

// `argument` with a mount's host path at its start replaced by the guest path: whole components,
// the longest host path wins. One that only contains a path ("--dir=/host"), or that climbs out of
// the mount by "..", is left alone.
std::string GuestArgument(std::string_view argument, const std::vector<HostMount>& mounts);

// All words after bwrap's own name. With strict isolation the /proc of the sandbox is read-only:
// bwrap leaves /proc/sys writable for uid 0.
std::vector<std::string> ProcessSandboxArgs(const ProcessSandboxPolicy& policy,
                                            const ProcessCommand& command);

}  // namespace native_runner
