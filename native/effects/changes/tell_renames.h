#pragma once

#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"

namespace native_runner {

// Makes one change, kRenamed, of each file that is not there any more and one that is there anew
// with the same bytes: told at the new path, with `from`. Each file is one side of at most one such
// pair; of several that have the same bytes, one of the same name is taken before others, and then
// the first by its path's bytes. Files without a byte are no pair, nor is anything but files: for
// these, and directories, what went and what came is told by itself. A conflict of either side is
// one of the pair's.
//
// `changes`: in the order of their paths' bytes, and stays so. Files are read only where sizes are
// equal; one that can't be read is no side of a pair. Meant for a thread of its own.
void TellRenames(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes);

}  // namespace native_runner
