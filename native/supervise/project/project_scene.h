#pragma once

#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/bubblewrap/project.h"
#include "policy/result.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/project/mount_points.h"

namespace native_runner {

// The host as a project's plan needs it, and what must stay as it is until the run has ended.
struct ProjectScene {
  ProjectFacts facts;
  std::vector<std::string> rules;  // of a second wall inside (protocol/order.h)
  std::vector<Placeholder> placeholders;
};

// Looks at the policy's secrets, besides root's, and at protected paths anew for each run, and
// makes placeholders for those that do not exist; with `plan_only` it makes none. kSetup, naming
// the path, for one that can't be protected: a symbolic link, which could be replaced, or a
// directory in which nothing can be made.
Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   bool plan_only);

}  // namespace native_runner
