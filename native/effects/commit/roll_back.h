#pragma once

#include <optional>
#include <string>
#include <vector>

#include "effects/commit/commit_directory.h"
#include "effects/commit/sites.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// What was taken back, and what could not be.
struct RollBack {
  std::vector<Operation> taken_back;
  std::vector<std::string> torn;
};

// Takes back what was done of the plan, durably. After an error the next open does it.
Result<RollBack> TakeBack(const Sites& sites, const Journal& plan);

// What was begun of a plan that a death has interrupted. It is noted on disk before anything of it
// is taken back: after another death nobody could tell any more which files were renamed.
Result<Journal> KeepBegun(const CommitDirectory& directory, const Sites& sites, Journal plan);

// The commit's files after an undo of it was taken back: they have another ctime by our own doing.
// One that somebody has changed keeps what tells so. Where that can't be kept, an undo is told of
// conflicts that are none.
void FollowDone(const CommitDirectory& directory, const Sites& sites, const Journal& undo);

// The plan is no longer needed, or is kept as one that was torn.
std::optional<Error> Conclude(const CommitDirectory& directory, const RollBack& roll_back);

// All that was renamed is on disk when it returns.
std::optional<Error> SyncSites(const Sites& sites);

}  // namespace native_runner
