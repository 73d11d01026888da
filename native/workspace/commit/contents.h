#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// Contents of the host's files that a commit or an undo takes away, where times don't tell that
// they were written to (noted_contents.h, Operation::contents). Any thread.

// True if nothing was noted, or there is a file with these contents.
bool HasContents(SitesView* view, const SitePath& place,
                 const std::optional<std::uint64_t>& contents);

// Gives the operations the contents of the host's files that were noted before the transaction.
void AddContents(const Ledger& ledger, std::vector<Operation>* operations);

// Returns the paths of the host's files that were taken away, and have other contents than were
// noted, with the same times. One with other times was written to after that: it is in the backup.
std::vector<std::string> WrittenMeanwhile(const Sites& sites, const Journal& plan);

// By operation.
using Contents = std::vector<std::optional<std::uint64_t>>;

// Returns, for each operation that is going to put a file on the host, its contents where times
// would not tell a change of them there. Nobody can write to it before it is there.
Contents ToBePut(const Sites& sites, const std::vector<Operation>& operations);

}  // namespace native_runner
