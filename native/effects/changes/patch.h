#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/result.h"

namespace native_runner {

// The changes as one text in git's format, which is UTF-8, and which `git apply` takes on `lower`.
// Directories, and what is neither file nor link, are not in it: git has no such. Of a file whose
// type is another, it is removed and made.
//
// kOutOfRange where the text would have more than `most` bytes; kSetup where a file can't be read,
// or is larger than 128 MiB. Reads each changed file into memory, one at a time.
Result<std::string> MakePatch(const ScannedTree& upper, const ScannedTree& lower,
                              const std::vector<Change>& changes, std::uint64_t most);

}  // namespace native_runner
