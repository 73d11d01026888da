#pragma once

#include <string>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// A directory that git keeps a repository in (gitrepository-layout(5)).
struct GitDirectory {
  std::string path;
  bool is_linked = false;  // configuration and hooks are those of another, its common directory
};

// What git goes by when it is used in a directory: that of a repository, of one of its worktrees or
// of a submodule. Paths are absolute and real, as far as they are there. What a path leads to may
// be anybody's, so no link in a file is believed to lead to anything.
struct GitRepository {
  // Those of the working tree, of all worktrees of the same repository, and of submodules.
  std::vector<GitDirectory> directories;
  // By which git finds them: `.git` of each working tree, unless it is a directory of the above;
  // HEAD of one that is no repository; and paths along symbolic links.
  std::vector<std::string> entries;
  // Of their configuration (core.hooksPath, include.path), and not in them.
  std::vector<std::string> hooks;
  std::vector<std::string> included;
};

// Looks at the host. kSetup when there are more directories than can be protected.
Result<GitRepository> FindGitRepository(const std::string& working_tree);

}  // namespace native_runner
