#pragma once

#include <vector>

#include "effects/commit/sites.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// What makes the host's files as the changes say, and leaves the upper directory without those.
// `changes` are in the order of their paths, and whole: with each directory that another is to be
// made in, and with all that is in a directory that is to go.
//
//   added file        upper ─► host
//   modified file     upper ─► aside, then it and the host's change places
//   deleted           whiteout ─► aside, host ─► aside: from the lowest up
//   added directory   made in `aside`, as the upper one is ─► host: from the top down
//   mode, owner       of directories; first where its owner may not change names in one, else last
//
// So each of the host's files is replaced by one rename, and what it was stays as the file that it
// is. Everything is looked at, directories are made in `aside`, overlayfs' notes are taken from the
// files of the upper directory; nothing of the host's is touched. kSetup where that fails.
Result<std::vector<Operation>> PlanCommit(const Sites& sites, const std::vector<Change>& changes);

}  // namespace native_runner
