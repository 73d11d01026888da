#pragma once

#include <cstdint>

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"

namespace native_runner {

// Whether anything in the tree was changed at that moment, by the clock of files' times
// (FileClock), or later. Of a file or directory that keeps its owner out the mode may have been
// changed by who has looked at it: of these, only a change of what is in them is told. kSetup where
// something can't be read.
Result<bool> WasWritten(const ScannedTree& tree, std::uint64_t since_ns);

}  // namespace native_runner
