#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/host_mounts.h"
#include "policy/options/policy.h"
#include "supervise/os/workspace.h"
#include "supervise/preparation/runtime.h"
#include "supervise/runtimes/bubblewrap_spawn.h"
#include "supervise/transaction/current_workspace.h"

namespace native_runner {

// Puts the overlay of a transaction, or its copy, in the place of the workspace that it was opened
// for. kUnavailable where bwrap can't be given an overlay by descriptor, kSetup where the host has
// replaced the workspace meanwhile.
std::optional<Error> TakeKept(const KeptWorkspace& kept, const Program& program,
                              Workspace* workspace);

// Commands in a Bubblewrap sandbox, started by the launcher as its pid 1. Used by the runs of one
// supervisor.
class BubblewrapRuntime : public Runtime {
 public:
  explicit BubblewrapRuntime(BubblewrapPolicy policy) : policy_(std::move(policy)) {}
  // Every run is in a transaction, whose overlay over the workspace this gives; while it gives none
  // there are no runs.
  BubblewrapRuntime(BubblewrapPolicy policy, std::shared_ptr<const CurrentWorkspace> transaction)
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  std::optional<Error> AttachOptions(SpawnPlan* plan) const override;

  // What Prepare would do here, as data, for `explain`; starts and opens nothing that stays.
  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           Shared& shared) const;

  const BubblewrapPolicy& policy() const { return policy_; }

 private:
  // What the policy comes to on the host as it is; kept for the next run, most often the same.
  struct Drawing {
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
  const Drawing& Draw(HostFacts facts, const std::string& workspace, std::uint64_t tmp_bytes) const;
  void DrawTemplate(const BubblewrapPlan& plan, Drawing* drawing) const;
  std::string ColdReason(const Drawing& drawing, const Program& program, bool makes_places) const;

  BubblewrapPolicy policy_;
  std::shared_ptr<const CurrentWorkspace> transaction_;  // nullptr: none
  mutable std::optional<Drawing> drawing_;               // supervisor thread
};

}  // namespace native_runner
