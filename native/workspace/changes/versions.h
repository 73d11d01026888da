#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/transaction/change.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// What tells the state of a change that was seen from all later ones (VersionOf): contents, where
// times can't (noted_contents.h).

// Gives changes a digest where their times may be those of a later state too. `begun_ns`: by the
// clock of file times, before they were scanned. `may_be_open`: something may have files of the
// tree open, so that each is looked at. What is written to through a mapping is on disk when this
// returns: the next write sets the times again. Reads the files that get a digest, and no others.
void AddDigests(const ScannedTree& upper, std::uint64_t begun_ns, bool may_be_open,
                std::vector<Change>* changes);

// Gives changes a digest that were seen with one. `seen`: by path, versions.
void AddSeenDigests(const ScannedTree& upper,
                    const std::map<std::string, std::string, std::less<>>& seen,
                    std::vector<Change>* changes);

}  // namespace native_runner
