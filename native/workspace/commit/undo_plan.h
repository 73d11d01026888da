#pragma once

#include "policy/result.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// Plans how a commit is taken back. What the transaction has at a path by now, newer than what was
// committed, stays as it is: only what is still to be seen there goes back to the upper directory,
// the rest to the backup. So commands see the same before and after. `done`: the journal of the
// commit. The overlay must not be mounted. kSetup if something can't be read.
Result<Journal> PlanUndo(const Sites& sites, const Journal& done);

}  // namespace native_runner
