#pragma once

#include "policy/bubblewrap/project.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// Commands over a project in a Bubblewrap sandbox, started by the launcher as its pid 1. The
// command starts in the first folder.
class ProjectRuntime : public Runtime {
 public:
  explicit ProjectRuntime(ProjectPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;
  std::optional<Error> AttachOptions(SpawnPlan* plan) const override;

  const ProjectPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           Shared& shared) const;

  ProjectPolicy policy_;
};

}  // namespace native_runner
