#pragma once

#include <string>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// A directory that holds a git repository (gitrepository-layout(5)).
struct GitDirectory {
  std::string path;
  bool is_linked = false;  // uses the configuration and hooks of its common directory
};

// The files that control git in a directory: those of a repository, its worktrees and submodules.
// Paths are absolute, with links resolved as far as they exist. A path may lead to a file that
// others control, so links found in files are never trusted.
struct GitRepository {
  // Repository directories of the working tree, of all worktrees of the same repository, and of
  // submodules.
  std::vector<GitDirectory> directories;
  // Paths through which git finds them: `.git` of each working tree unless it is in `directories`;
  // HEAD of a tree that is no repository; and paths that go along symbolic links.
  std::vector<std::string> entries;
  // Paths that their configuration names (core.hooksPath, include.path) outside of them.
  std::vector<std::string> hooks;
  std::vector<std::string> included;
};

// Reads the host. kSetup if there are more directories than can be protected.
Result<GitRepository> FindGitRepository(const std::string& working_tree);

}  // namespace native_runner
