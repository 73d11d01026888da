#pragma once

#include <string>
#include <vector>

#include "policy/git/git_paths.h"
#include "policy/result.h"
#include "policy/transaction/change.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

struct GitPathsRequest {
  std::string workspace;               // the real path
  std::vector<std::string> names;      // GitNamesOf the protected names
  std::vector<std::string> homes;      // of the user, where git has configuration too
  const ScannedTree* upper = nullptr;  // what the transaction has
  const ScannedTree* lower = nullptr;  // the workspace
};

// Finds the paths that git runs code from or reads as configuration, on the host as it is and as it
// is going to be after a commit of `chosen`, in the order of their paths:
//
// - of the repositories of the workspace, above it, and anywhere in it: with their worktrees and
//   submodules, and with what their configuration names
// - of directories that git takes for a repository, such as bare ones and those in .git/modules: as
//   far as `chosen` has a path in one
// - what makes a repository of a directory that is none: its HEAD, `objects`, `refs`, `commondir`
//
// Reads the host's directories. kSetup if there are more repositories than are looked at. None if
// `names` is empty.
Result<ProtectedPaths> FindGitPaths(const GitPathsRequest& request,
                                    const std::vector<Change>& chosen);

}  // namespace native_runner
