#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/bubblewrap/project.h"
#include "policy/result.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/project/git_repository.h"
#include "supervise/project/homes.h"
#include "supervise/project/mount_points.h"

namespace native_runner {

// Facts about the host for a project's plan, and the resources to keep until the run ends.
struct ProjectScene {
  ProjectFacts facts;
  ProjectHome home;
  std::vector<std::string> rules;         // of a second wall inside the sandbox (protocol/order.h)
  std::vector<std::string> links;         // to keep as they are, as kStepLink names them
  std::vector<Placeholder> placeholders;  // each after those of the directories above it
  std::vector<GitExclude> excludes;

  ProjectScene() = default;
  ProjectScene(ProjectScene&&) noexcept = default;
  ProjectScene& operator=(ProjectScene&&) = delete;
  ProjectScene(const ProjectScene&) = delete;
  ProjectScene& operator=(const ProjectScene&) = delete;
  ~ProjectScene();
};

// Examines the policy's secrets, in addition to root's, and the protected paths, anew for each run,
// and makes placeholders for missing ones; none with `plan_only`. Of a symbolic link the scene has
// the link, and what it leads to is protected. kSetup, naming the path, if a path can't be
// protected: a folder itself, or a directory in which nothing can be made.
//
// `home_mounts`: the mount points below the policy's home; nullopt: not known.
Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   std::optional<std::vector<std::string>> home_mounts,
                                   bool plan_only);

}  // namespace native_runner
