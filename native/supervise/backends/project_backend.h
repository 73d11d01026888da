#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "supervise/preparation/backend.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

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
