#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/options/request.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// How bwrap is started for a plan, and what is recorded of it: common to the runtimes that have it.

// Where bwrap finds the launcher's image; 3 is the control socket, 4 bwrap's options.
inline constexpr int kLauncherDescriptor = 5;

// Where a plan that binds by descriptor finds its writable folders, from this number on.
inline constexpr int kFirstFolderDescriptor = 6;

// A plan in words.
struct PlanText {
  std::string options;                // as bwrap reads them, each ended by NUL
  std::vector<std::string> recorded;  // as the audit has them: paths in place of descriptors
};
PlanText TextOf(const BubblewrapPlan& plan);

// The record of a plan, with `cwd` as where the command starts; no layers yet.
RunRecord RecordOf(const std::string& bwrap_path, const PlanText& text, const std::string& cwd,
                   const ExecRequest& request);

// How bwrap is started: it starts the launcher; by way of /proc where the sandbox has one, else as
// the file that the plan makes. Its options are noted, for AttachBubblewrapOptions.
std::optional<Error> OrderSpawn(const Program& program, const PlanText& text, int launcher,
                                bool with_proc, SpawnPlan* plan);

// For a network by domain, nothing else: what is spawned is to have one of its own, with listeners
// that are ours (EnterKept makes it), or to refuse. kSetup where that can't be proved.
std::optional<Error> OrderNetwork(Network network, std::shared_ptr<const NetworkPolicy> by_domain,
                                  Preparation* preparation, SpawnPlan* plan);

// What is spawned becomes a template in place of a sandbox: its network by domain, cgroup and
// limits are its clones' own.
void OrderTemplate(const std::string& options, const std::vector<std::string>& steps,
                   Preparation* preparation);

// The texts of a plan's files of its own, each to be read once, as the descriptors that they have.
std::optional<Error> GiveNameFiles(const std::vector<NameFile>& files, SpawnOptions* spawn);

// Runtime::AttachOptions of these runtimes. Options travel over a descriptor: neither policy nor
// paths show in the host's process list.
std::optional<Error> AttachBubblewrapOptions(SpawnPlan* plan);

}  // namespace native_runner
