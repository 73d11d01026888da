#pragma once

#include <string>
#include <vector>

#include "effects/commit/sites.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// The paths at which what a plan takes for the host's own is not what the ledger says that it was
// before the transaction.
std::vector<std::string> ChangedByHost(const std::vector<Operation>& operations,
                                       const Ledger& ledger);

// The paths at which the host has something else than a commit has left there, or somebody has
// touched what the commit has kept aside of it where commands may reach that. `done`: the journal
// of that commit.
Result<std::vector<std::string>> ChangedSince(const Sites& sites, const Journal& done);

}  // namespace native_runner
