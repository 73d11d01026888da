#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/host/host.h"
#include "supervise/preparation/backend.h"
#include "supervise/project/devices.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

// Plans commands without a sandbox but with the same supervision: the launcher is started directly
// and, as subreaper, ends all processes that the command leaves behind. In a transaction the
// commands are just as unconfined, but see its overlay at the workspace's path.
class LocalBackend : public Backend {
 public:
  explicit LocalBackend(LocalPolicy policy, TransactionOfBackend transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const LocalPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const SupervisorContext& shared,
                           const HostView& view) const;

  LocalPolicy policy_;
  TransactionOfBackend transaction_;
};

// Returns the rules of a Landlock policy for this host, in the order's form (protocol/order.h):
// existing directories, the workspace, and the devices that every program needs. Since Landlock can
// only allow, a read directory that holds root's secrets is replaced by its other entries. kSetup
// if a directory that the caller named does not exist. `view`: of the host's tools, or null: a
// directory of theirs that holds a file of credentials is replaced by its other entries too.
// `home`: a directory that commands may read and write; empty: none. `devices`: of the policy.
Result<std::vector<std::string>> LandlockRules(const LandlockPolicy& policy, const Secrets& secrets,
                                               const std::string& workspace,
                                               const HomeView* view = nullptr,
                                               const std::string& home = "",
                                               const OpenedDevices& devices = {});

// Returns the rules of the wall inside a Bubblewrap sandbox: read everything, write where bwrap
// allows it. `home`: the view that the sandbox has, or null. `devices`: paths inside.
std::vector<std::string> LandlockRulesInside(const BubblewrapPolicy& policy, const HomeView* home,
                                             const std::vector<HostFacts::Link>& devices = {});

// Returns the kernel's Landlock ABI version; 0: no Landlock.
int LandlockAbi();

// Returns kUnavailable, naming the kernel's version and the requirement.
Error NoLandlock();

// Plans commands confined by the launcher alone: Landlock for files, seccomp for the network, no
// capabilities, and a pid namespace if one may be made. Paths are the host's own. HOME is a
// directory that is made for the run or session, see PrivateHome, or one that the policy names.
class LandlockBackend : public Backend {
 public:
  // With a transaction, its overlay is at the workspace's path.
  explicit LandlockBackend(LandlockPolicy policy, TransactionOfBackend transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const LandlockPolicy& policy() const { return policy_; }

 private:
  // `answers`: all mounted file systems are this machine's own.
  Result<Preparation> Plan(const ExecRequest& request, const SupervisorContext& shared,
                           const HostView& view, bool answers) const;
  std::shared_ptr<const HomeView> ViewFor(const ExecRequest& request) const;
  void RemoveLeftHomesOnce(const HomeView& view, SupervisorContext& shared) const;

  LandlockPolicy policy_;
  TransactionOfBackend transaction_;
  mutable std::atomic<bool> has_removed_left_homes_ = false;
};

// Plans commands over a project in a Bubblewrap sandbox, started by the launcher as its pid 1. The
// command starts in the first folder. A transaction covers that folder; its overlay is bound in the
// place of the folder.
class ProjectBackend : public Backend {
 public:
  explicit ProjectBackend(ProjectPolicy policy, TransactionOfBackend transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;
  std::optional<Error> AttachOptions(SpawnPlan* plan) const override;

  const ProjectPolicy& policy() const { return policy_; }

 private:
  using HomeMounts = std::optional<std::vector<std::string>>;  // see LookAtProject

  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           const SupervisorContext& shared, const HostView& view,
                           const HomeMounts& home_mounts) const;

  ProjectPolicy policy_;
  TransactionOfBackend transaction_;
};

}  // namespace native_runner
