#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "workspace/tree/scanned_tree.h"

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
//   nothing                    the parent's ctime is not: it may have been removed; where an opaque
//                              directory hides the parent, if names in it have changed since it was
//                              noted
// So a look that comes late tells of conflicts that are none; none that is one is missed.
//
// Of a directory that is hidden as a whole, by a whiteout, a file or an opaque directory, only its
// files whose later changes times may not tell (same_file.h) get a baseline.
//
// `seen`, if given, gets all paths that are in `upper` below directories of the host's. `unseen`:
// paths at which commands may not have seen what the host has; there each baseline is suspect.
// Gives whether all of `upper` was read: where it opens no directory that keeps this user out
// (WhereOpen), what such have is left for a later look. kSetup where something else can't be read.
// The trees may change meanwhile. Any thread; as long as it takes.
Result<bool> NoteBaselines(const ScannedTree& upper, const ScannedTree& lower,
                           std::uint64_t since_ns, Ledger* ledger,
                           std::set<std::string, std::less<>>* seen = nullptr,
                           const std::set<std::string, std::less<>>& unseen = {});

// Notes what the host has of what an opaque directory of the overlay's hides, before each of these
// names is hidden by itself (NormalizeUpper), and so looks as if it had been removed only then.
// `changes`: all that a scan has just told. What the host has changed since the directory was
// noted is suspect. Gives whether there was any; kSetup where something can't be read.
Result<bool> NoteHidden(const ScannedTree& upper, const ScannedTree& lower,
                        const std::vector<Change>& changes, Ledger* ledger);

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

// After a commit, whose changes have a later ctime than the directories' baselines: what the host
// has in a directory in which it has changed names counts as changed from `since_ns` on, should the
// transaction hide it later. Only where the upper directory shows the host's names, as after
// NormalizeUpper.
void RestartDirectories(const ScannedTree& upper, const std::vector<Operation>& touched,
                        std::uint64_t since_ns, Ledger* ledger);

// What a commit, or an undo, has left at each of the host's paths that it has touched; nullopt:
// nothing.
using Left = std::map<std::string, std::optional<HostFile>>;
Left LeftBy(const std::vector<Operation>& operations);

// Whether that is there still: of a directory, what is in it is looked at by itself.
bool IsLeft(const std::optional<HostFile>& left, const std::optional<HostFile>& now);

// After an undo whose baselines were noted: where the host had changed what was brought back before
// that was looked at, its change is not what the baseline may take for the file that it was.
void SuspectOthers(const std::vector<Operation>& touched, Ledger* ledger);

// After an undo: the host's files that it has brought back, and that the transaction hides by a
// name above them, have another ctime by our own doing: each gets a baseline of its own. `seen`: as
// of NoteBaselines.
void NoteRestored(const ScannedTree& upper, const ScannedTree& lower,
                  const std::vector<Operation>& touched, std::uint64_t since_ns,
                  const std::set<std::string, std::less<>>& seen, Ledger* ledger);

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

// Makes the upper directory say the same in simpler words, so that parts of it can be taken away: a
// directory that hides all that the host has there ("opaque") gets a whiteout for each name of the
// host's that it does not have itself, and then hides nothing any more. The overlay must not be
// mounted. What it shows is the same at each moment, so that a death in between costs nothing.
// kSetup where something can't be read or made.
//
// `known`: a name for which it has no baseline is hidden no more: the host has just made it.
std::optional<Error> NormalizeUpper(const ScannedTree& upper, const ScannedTree& lower,
                                    const Ledger* known = nullptr);

// After the host's directory at a path has gone by our own doing: what the upper directory has
// there, if it is a directory, is no copy of one of the host's, as overlayfs may have noted when it
// showed both as one.
std::optional<Error> ForgetOrigin(const ScannedTree& upper, const std::string& path);

}  // namespace native_runner
