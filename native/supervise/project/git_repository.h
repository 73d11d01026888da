#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/git/git_paths.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/project/mount_points.h"

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

// Keeps git, on the host and in sandboxes, from listing and adding placeholders that are files: a
// block of lines in a repository's info/exclude (gitignore(5)). During a run that file is locked
// (F_OFD_SETLK), shared by all runs, of any process, that need it; the last run takes the block
// out. One that a killed process left behind goes with the next run's. All other lines stay. Any
// thread.
class GitExclude {
 public:
  // `parent`: the directory info, O_PATH; `names`: relative to the working tree. Returns nullopt,
  // and changes nothing, if there is no file that can be written.
  static std::optional<GitExclude> Add(int parent, const std::vector<std::string>& names);

  GitExclude(GitExclude&&) noexcept = default;
  GitExclude& operator=(GitExclude&&) = delete;
  GitExclude(const GitExclude&) = delete;
  GitExclude& operator=(const GitExclude&) = delete;
  ~GitExclude();

 private:
  GitExclude(Descriptor parent, Descriptor file)
      : parent_(std::move(parent)), file_(std::move(file)) {}

  Descriptor parent_;
  Descriptor file_;  // holds the lock; invalid once moved from
};

// A `.git` that commands may make in a project which has none (`git init`). During a run a
// placeholder stands at `.git` on the host, and commands see a directory in it there
// (kNewRepository). Git on the host sees no repository before the last run that could change it has
// ended. That run moves the entries up, HEAD last. What git would run or obey goes into
// `.git/native-runner-left-out` instead: hooks but samples, all settings but those of
// NewRepositoryConfig, modules and worktrees, which have their own. What is on the host already
// stays. A run after one that was killed ends the move. Any thread.

// Returns true if `.git` at this path is the placeholder of such a directory.
bool IsNewRepository(const std::string& path);

// Ends what a killed process left. `tree`: the working tree, O_PATH; `protected_names`: GitNamesOf.
void FinishNewRepository(int tree, const std::vector<std::string>& protected_names);

struct NewRepository {
  Placeholder placeholder;
  std::vector<GitExclude> excludes;  // go first
};

// Makes the directory, in which git lists none of `hidden`, paths in the working tree. Nullopt if
// something else has been made at `.git` meanwhile.
Result<std::optional<NewRepository>> MakeNewRepository(
    int tree, const std::vector<std::string>& protected_names,
    const std::vector<std::string>& hidden);

}  // namespace native_runner
