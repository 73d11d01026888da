#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "policy/result.h"
#include "supervise/os/workspace.h"
#include "supervise/project/placeholder.h"

namespace native_runner {

// Protects paths in the folders of a project: finds out what is there, makes placeholders for what
// is not, and notes both for the plan. Supervisor thread, for one run.
class ProtectedWalk {
 public:
  // With `plan_only` nothing is made. All three must outlive this.
  ProtectedWalk(const std::vector<Workspace>& folders, bool plan_only, ProjectFacts* facts,
                std::vector<Placeholder>* placeholders)
      : folders_(folders), plan_only_(plan_only), facts_(facts), placeholders_(placeholders) {}

  // Goes down to an absolute path; one in no folder can't be written anyway. `form`: what stands
  // for its last component, where only that is missing; else an empty directory stands for the
  // first that is. kSetup, naming the path, for one that can't be protected: a symbolic link, which
  // could be replaced, a folder itself, or a directory in which nothing can be made.
  std::optional<Error> Protect(const std::string& path, Placeholder::Form form = {});

 private:
  std::optional<Error> Replace(int directory, const std::string& name, const std::string& path,
                               Placeholder::Form form);

  const std::vector<Workspace>& folders_;
  bool plan_only_;
  ProjectFacts* facts_;
  std::vector<Placeholder>* placeholders_;
};

}  // namespace native_runner
