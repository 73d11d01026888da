#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// The host's files that a commit has renamed and taken back have another ctime by our own doing.
// Their baselines follow, unless somebody has changed them; one that had none, since it lies in a
// directory that the transaction has removed as a whole, gets its own.
void FollowTakenBack(const ScannedTree& lower, const std::vector<Operation>& taken_back,
                     Ledger* ledger);

// A directory in which a commit has removed names, and that it was to remove only after them, has
// another ctime by our own doing too: it is one of those that were begun. `plan`: all that was to
// be done; `begun`: what was, before it was taken back.
void AddEmptied(const Journal& plan, std::vector<Operation>* begun);

// The same of the directories in which names were touched. What else is in them is known by itself.
void FollowDirectories(const ScannedTree& lower, const std::vector<Operation>& touched,
                       Ledger* ledger);

// What a commit, or an undo, has left at each of the host's paths that it has touched; nullopt:
// nothing.
using Left = std::map<std::string, std::optional<HostFile>>;
Left LeftBy(const std::vector<Operation>& operations);

// Whether that is there still: of a directory, what is in it is looked at by itself.
bool IsLeft(const std::optional<HostFile>& left, const std::optional<HostFile>& now);

// After an undo whose baselines were noted: where the host had changed what was brought back before
// that was looked at, its change is not what the baseline may take for the file that it was.
void SuspectOthers(const std::vector<Operation>& touched, Ledger* ledger);

// A directory of the host's that the transaction shows no more, and in which a commit has removed
// names, has another ctime by our own doing: it gets a baseline of its own where it has none.
// `left`: what was not committed, as it was told before.
void FollowLeft(const ScannedTree& lower, const std::vector<Operation>& touched,
                const std::vector<Change>& left, Ledger* ledger);

// Whether a path for which the upper directory has no name is hidden by one above it that was seen
// there: a whiteout, a file, or a directory that shows nothing of the host's. What it was is known
// by its own baseline then.
bool IsHiddenFromAbove(const ScannedTree& upper, std::string_view path,
                       const std::set<std::string, std::less<>>& seen);

}  // namespace native_runner
