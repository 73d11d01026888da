#pragma once

#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/bubblewrap/project.h"
#include "policy/result.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/project/mount_points.h"

namespace native_runner {

// Facts about the host for a project's plan, and the resources to keep until the run ends.
struct ProjectScene {
  ProjectFacts facts;
  std::vector<std::string> rules;  // of a second wall inside the sandbox (protocol/order.h)
  std::vector<Placeholder> placeholders;
};

// Examines the policy's secrets, in addition to root's, and the protected paths, anew for each run,
// and makes placeholders for missing ones; none with `plan_only`. kSetup, naming the path, if a
// path can't be protected: a symbolic link, which could be replaced, or a directory in which
// nothing can be made.
Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   bool plan_only);

}  // namespace native_runner
