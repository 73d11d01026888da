#pragma once

#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "effects/commit/choose.h"
#include "policy/changes/change.h"
#include "policy/result.h"

namespace native_runner {

// Files of which a commit brings a part of the changes: contents that somebody has given, while the
// transaction keeps its own, as a change against these.

// Of the contents given, those that the transaction does not have itself. kInvalidValue where one
// is for a path that is no regular file among `chosen`.
Result<GivenContents> TakeParts(const ScannedTree& upper, const std::vector<Change>& chosen,
                                const GivenContents& given);

// The changes that are committed whole.
std::vector<Change> WithoutParts(const std::vector<Change>& chosen, const GivenContents& parts);

// Adds the others, in their places, with the size that they have on the host then; and makes
// `digests`, one for each change, of what was given.
void TellParts(const std::vector<Change>& chosen, const GivenContents& parts,
               std::vector<Change>* committed, std::vector<std::string>* digests);

// Adds what is left of them, in their places.
void LeaveParts(const std::vector<Change>& chosen, const GivenContents& parts,
                std::vector<Change>* left);

}  // namespace native_runner
