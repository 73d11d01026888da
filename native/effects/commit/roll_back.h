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

// Takes back what was done of the plan, durably, so that the plan is no longer needed. After an
// error the next open does it.
Result<RollBack> RollBackPlan(const CommitDirectory& directory, const Sites& sites,
                              const Journal& plan);

// All that was done in a tree's file system is on disk when it returns.
std::optional<Error> SyncTree(int tree);

}  // namespace native_runner
