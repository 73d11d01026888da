#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// Notes what the host (`lower`) has at each path that the overlay's `upper` directory has and the
// ledger does not: what the transaction has changed since the last look. Below what the host has
// no directory for, nothing is noted: it can get nothing there without getting that.
//
// `since_ns`: the earliest moment at which such a change can have been made, by the clock of files'
// times. Where the host may have changed something there since, the baseline is suspect:
//   a file, a link             its ctime is not before that moment
//   a directory, still there   its own ctime is not, and either its parent's is not, so that it may
//                              be another one, or its mode or owner is not the overlay's
//   nothing                    the parent's ctime is not: it may have been removed
// So a look that comes late tells of conflicts that are none; none that is one is missed.
//
// `seen`, if given, gets all paths that are in `upper` below directories of the host's. `unseen`:
// paths at which commands may not have seen what the host has; there each baseline is suspect.
// kSetup where something can't be read. The trees may change meanwhile. Any thread; as long as it
// takes.
std::optional<Error> NoteBaselines(const ScannedTree& upper, const ScannedTree& lower,
                                   std::uint64_t since_ns, Ledger* ledger,
                                   std::set<std::string, std::less<>>* seen = nullptr,
                                   const std::set<std::string, std::less<>>& unseen = {});

// Notes what the host has of what an opaque directory of the overlay's hides, before each of these
// names is hidden by itself (NormalizeUpper), and so looks as if it had been removed only then.
// `changes`: all that a scan has just told. What the host has changed since the directory was
// noted is suspect. Gives whether there was any; kSetup where something can't be read.
Result<bool> NoteHidden(const ScannedTree& upper, const ScannedTree& lower,
                        const std::vector<Change>& changes, Ledger* ledger);

}  // namespace native_runner
