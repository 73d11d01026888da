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
#include "supervise/project/devices.h"
#include "supervise/project/mount_points.h"
#include "supervise/project/root_directory.h"
#include "supervise/transaction/mounted_workspace.h"

namespace native_runner {

// Spawning bwrap for a plan and recording it: shared by the backends that use bwrap.

// The launcher image's descriptor number in bwrap; 3 is the control socket, 4 bwrap's options.
inline constexpr int kLauncherDescriptor = 5;

// First descriptor number of the writable folders in a plan that binds by descriptor.
inline constexpr int kFirstFolderDescriptor = 6;

// A plan as text.
struct PlanText {
  std::string options;                // for bwrap, each ended by NUL
  std::vector<std::string> recorded;  // for the audit: paths in place of descriptors
};
PlanText TextOf(const BubblewrapPlan& plan);

// Returns the record of a plan, with `cwd` as the command's start directory; without layers.
RunRecord RecordOf(const std::string& bwrap_path, const PlanText& text, const std::string& cwd,
                   const ExecRequest& request);

// Sets up the spawn of bwrap, which starts the launcher: through /proc if the sandbox has one, else
// as a file that the plan makes. Stores bwrap's options for AttachBubblewrapOptions.
std::optional<Error> OrderSpawn(const Program& program, const PlanText& text, int launcher,
                                bool with_proc, SpawnPlan* plan);

// For a network by domain only: gives the sandbox its own network, with our listeners (EnterMounted
// makes it), or makes the launcher refuse. kSetup if that can't be proved.
std::optional<Error> OrderNetwork(Network network, std::shared_ptr<const NetworkPolicy> by_domain,
                                  Preparation* preparation, SpawnPlan* plan);

// Turns the preparation into that of a template. Each clone gets its own network by domain, cgroup
// and limits.
void OrderTemplate(const std::string& options, const std::vector<std::string>& steps,
                   Preparation* preparation);

// Passes the texts of a plan's generated files as descriptors, each to be read once.
std::optional<Error> GiveNameFiles(const std::vector<NameFile>& files, SpawnOptions* spawn);

// Implements Backend::AttachOptions. Options travel over a descriptor, so neither policy nor paths
// show in the host's process list.
std::optional<Error> AttachBubblewrapOptions(SpawnPlan* plan);

// Replaces the workspace by the overlay or the copy of its transaction. kUnavailable if bwrap can't
// bind an overlay by descriptor, kSetup if the host has replaced the workspace meanwhile.
std::optional<Error> TakeMounted(const MountedWorkspace& mounted, const Program& program,
                                 Workspace* workspace);

// Plans commands in a Bubblewrap sandbox, started by the launcher as its pid 1. Used by the runs of
// one supervisor.
class BubblewrapBackend : public Backend {
 public:
  explicit BubblewrapBackend(BubblewrapPolicy policy) : policy_(std::move(policy)) {}
  // Every run is in the transaction, which provides the overlay over the workspace; without one,
  // runs are rejected.
  BubblewrapBackend(BubblewrapPolicy policy, std::shared_ptr<const CurrentWorkspace> transaction)
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  std::optional<Error> AttachOptions(SpawnPlan* plan) const override;

  // Returns the plan as data, for `explain`; starts nothing, and keeps nothing open.
  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           const SupervisorContext& shared, const HostView& view) const;

  const BubblewrapPolicy& policy() const { return policy_; }

 private:
  // The plan of the policy on the current host, cached since the next run most often needs the
  // same.
  struct CachedPlan {
    HostFacts facts;
    std::string workspace;
    std::uint64_t tmp_bytes = 0;
    PlanText text;
    std::vector<Layer> layers;
    std::shared_ptr<const DenialScene> scene;
    std::vector<MountPoint> places;  // the policy's mounts
    FingerprintPlan fingerprint;
    std::shared_ptr<const std::vector<std::string>> mount_points;
    std::shared_ptr<const std::vector<std::string>> mounted;
    std::string template_options;  // bwrap's options for its template, in PlanText's form
    std::vector<std::string> template_steps;  // of the template's clones
    std::string cold_reason;                  // why it can have no template; else empty
  };
  const CachedPlan& PlanFor(HostFacts facts, const std::string& workspace,
                            std::uint64_t tmp_bytes) const;
  void AddTemplatePlan(const BubblewrapPlan& plan, CachedPlan* cached) const;
  std::string ColdReason(const CachedPlan& cached, const Program& program, bool makes_places) const;

  // The parts of one run's sandbox on the host, opened.
  struct HostParts {
    std::string cwd;  // relative to the workspace
    Workspace workspace;
    std::shared_ptr<const MountedWorkspace> mounted;  // a transaction's; or null
    std::shared_ptr<const MountedWorkspace> caches;   // that sandboxes share; `mounted`, or null
    bool forgets_caches = false;        // of a kept home: others have its overlays at the moment
    std::vector<OpenedMount> mounts;    // of the policy
    std::vector<OpenedDevice> devices;  // those that the plan mounts
    std::vector<Descriptor> root;       // of an own root's entries that are bound
    HostFacts facts;
  };

  // The steps of Plan.
  std::optional<Error> CheckFeatures(const ExecRequest& request, const Program& program) const;
  std::optional<Error> TakeHome(const ExecRequest& request, HostFacts* facts) const;
  std::optional<Error> LookInside(const Workspace& workspace,
                                  const std::vector<OpenedMount>& mounts, HostFacts* facts,
                                  OpenedRoot* root) const;
  Result<HostParts> OpenHostParts(const ExecRequest& request, const Program& program,
                                  const HostView& view, int launcher) const;
  void RecordRun(const ExecRequest& request, const CachedPlan& cached, const HostParts& host,
                 const LayerRecord& limits, Preparation* preparation) const;
  WrittenPlaces PlacesWritten(const HostParts& host) const;
  std::optional<Error> OrderConfinement(const ExecRequest& request, const HostParts& host,
                                        const CachedPlan& cached, Preparation* preparation) const;
  void AllowReuse(const ExecRequest& request, const CachedPlan& cached, const HostParts& host,
                  const Program& program, const std::string& cold_reason, const HostView& view,
                  SpawnPlan* plan) const;
  std::optional<Error> GiveCaches(const HostFacts& facts, const MountedWorkspace* shared,
                                  int launcher, SpawnPlan* plan) const;
  std::optional<Error> GiveDescriptors(const CachedPlan& cached, HostParts host,
                                       const Program& program, int launcher, SpawnPlan* plan) const;

  BubblewrapPolicy policy_;
  std::shared_ptr<const CurrentWorkspace> transaction_;  // nullptr: no transaction
  mutable std::optional<CachedPlan> cached_;             // one thread at a time
};

}  // namespace native_runner
