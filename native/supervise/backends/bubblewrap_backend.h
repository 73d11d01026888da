#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "supervise/os/file.h"
#include "supervise/preparation/backend.h"
#include "supervise/transaction/mounted_workspace.h"

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
// that are ours (EnterMounted makes it), or to refuse. kSetup where that can't be proved.
std::optional<Error> OrderNetwork(Network network, std::shared_ptr<const NetworkPolicy> by_domain,
                                  Preparation* preparation, SpawnPlan* plan);

// What is spawned becomes a template in place of a sandbox: its network by domain, cgroup and
// limits are its clones' own.
void OrderTemplate(const std::string& options, const std::vector<std::string>& steps,
                   Preparation* preparation);

// The texts of a plan's files of its own, each to be read once, as the descriptors that they have.
std::optional<Error> GiveNameFiles(const std::vector<NameFile>& files, SpawnOptions* spawn);

// Backend::AttachOptions of these runtimes. Options travel over a descriptor: neither policy nor
// paths show in the host's process list.
std::optional<Error> AttachBubblewrapOptions(SpawnPlan* plan);

// Puts the overlay of a transaction, or its copy, in the place of the workspace that it was opened
// for. kUnavailable where bwrap can't be given an overlay by descriptor, kSetup where the host has
// replaced the workspace meanwhile.
std::optional<Error> TakeMounted(const MountedWorkspace& kept, const Program& program,
                                 Workspace* workspace);

// Commands in a Bubblewrap sandbox, started by the launcher as its pid 1. Used by the runs of one
// supervisor.
class BubblewrapBackend : public Backend {
 public:
  explicit BubblewrapBackend(BubblewrapPolicy policy) : policy_(std::move(policy)) {}
  // Every run is in a transaction, whose overlay over the workspace this gives; while it gives none
  // there are no runs.
  BubblewrapBackend(BubblewrapPolicy policy, std::shared_ptr<const CurrentWorkspace> transaction)
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  std::optional<Error> AttachOptions(SpawnPlan* plan) const override;

  // What Prepare would do here, as data, for `explain`; starts and opens nothing that stays.
  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           SupervisorContext& shared) const;

  const BubblewrapPolicy& policy() const { return policy_; }

 private:
  // What the policy comes to on the host as it is; kept for the next run, most often the same.
  struct CachedPlan {
    HostFacts facts;
    std::string workspace;
    std::uint64_t tmp_bytes = 0;
    PlanText text;
    std::vector<Layer> layers;
    std::shared_ptr<const DenialScene> scene;
    std::vector<MountPoint> places;  // of the policy's mounts
    FingerprintPlan fingerprint;
    std::shared_ptr<const std::vector<std::string>> mount_points;
    std::shared_ptr<const std::vector<std::string>> mounted;
    std::string template_options;             // bwrap's, for a template of it, as PlanText's
    std::vector<std::string> template_steps;  // of its clones
    std::string cold_reason;                  // why there can be none; else empty
  };
  const CachedPlan& PlanFor(HostFacts facts, const std::string& workspace,
                            std::uint64_t tmp_bytes) const;
  void AddTemplatePlan(const BubblewrapPlan& plan, CachedPlan* drawing) const;
  std::string ColdReason(const CachedPlan& drawing, const Program& program,
                         bool makes_places) const;

  BubblewrapPolicy policy_;
  std::shared_ptr<const CurrentWorkspace> transaction_;  // nullptr: none
  mutable std::optional<CachedPlan> drawing_;            // supervisor thread
};

}  // namespace native_runner
