#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "policy/git/git_paths.h"
#include "policy/result.h"

namespace native_runner {

// Where FindGitRepository looks. Paths are absolute and real.
struct GitSearch {
  std::vector<std::string> working_trees;

  // Repositories that no `.git` of a working tree leads to, and the directory that each of them
  // runs its hooks in.
  struct Directory {
    std::string path;
    std::string working_tree;
  };
  std::vector<Directory> directories;

  // Also repositories that a working tree lies in.
  bool looks_above = false;

  // Home directories of the user: also what git's own configuration there names, and paths that
  // begin with "~/". None: these are left out.
  std::vector<std::string> homes;

  std::size_t most_directories = 256;  // each costs several mounts

  // Returns true, with the text, for a file that is about to have another text than the host's.
  // May be empty.
  std::function<bool(const std::string& path, std::string* text)> read_changed;
};

// Reads the host. kSetup if there are more directories than can be protected.
Result<GitRepository> FindGitRepository(const GitSearch& search);

}  // namespace native_runner
