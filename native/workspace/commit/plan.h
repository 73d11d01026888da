#pragma once

#include <cstdint>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// How a file of the transaction's gets to the host.
enum class UpperUse : std::uint8_t {
  kMove,   // by a rename, unless a command could still reach it: then as kStage
  kStage,  // a copy gets there, and the file goes to a backup directory
  kCopy,   // a copy gets there, and the file stays: the transaction is a copy of the workspace
};

struct PlanOptions {
  UpperUse use = UpperUse::kMove;
  // A mount of the upper directory may still be reached: no file of it is moved, and one that is
  // written to meanwhile is refused.
  bool has_earlier_overlay = false;
  const CopyManifest* copies = nullptr;  // of kCopy, with `ledger`: the copies as they were made
  const Ledger* ledger = nullptr;
  const GivenContents* contents = nullptr;  // of files that stay in `upper` as they are
};

// Plans the operations that make the host's files as the changes say, and take these changes from
// the upper directory. `changes` are in the order of their paths, and complete: each directory that
// another change needs is among them, and so is all that is in a directory that is removed.
//
//   added file        upper ─► host
//   modified file     upper ─► backup, then it and the host's change places
//   deleted           whiteout ─► backup, host ─► backup: from the lowest up
//   added directory   made in the backup directory, as the upper one is ─► host: from the top down
//   mode, owner       of directories; first if its owner may not change names in one, else last
//   times             of added directories, last, from the lowest up
//
// A file is copied instead, in the backup directory, if a command could still reach it
// (MakeMovable) or if host and upper are on two file systems. The copy gets to the host, and the
// last operation for the path takes the file from `upper` to the backup directory or `kept`. Of a
// copy of a workspace, and where contents are given, nothing is taken from `upper`. So an inode of
// the host's is never one that a command can reach.
//
// So each of the host's files is replaced by one rename, and the replaced file stays as it is.
// Everything is looked at, directories and copies are made in the backup directory, and overlayfs'
// notes are removed from the files that are moved; nothing of the host's is touched. kSetup if that
// fails, as for want of space, or if a file is not the one that a change describes.
Result<std::vector<Operation>> PlanCommit(const Sites& sites, const std::vector<Change>& changes,
                                          const PlanOptions& options);

// Plans how a commit is taken back. What the transaction has at a path by now, newer than what was
// committed, stays as it is: only what is still to be seen there goes back to the upper directory,
// the rest to the backup. So commands see the same before and after. `done`: the journal of the
// commit. The overlay must not be mounted. kSetup if something can't be read.
Result<Journal> PlanUndo(const Sites& sites, const Journal& done);

}  // namespace native_runner
