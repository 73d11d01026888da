#pragma once

#include <string>
#include <vector>

#include "policy/result.h"
#include "supervise/project/git_exclude.h"
#include "supervise/project/placeholder.h"

namespace native_runner {

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
