#pragma once

#include <vector>

#include "effects/changes/differences.h"
#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// What an overlay over `lower` shows otherwise than `lower` does, in the order of the paths' bytes.
// `upper` is where overlayfs has put it. A file whose contents, mode, owner and extended attributes
// are the host's is no change, whatever its times; contents are compared, since times can be
// forged.
//
// A change of the host's to one of the paths since the ledger's baseline of it, or to a directory
// above, is a conflict; where it has none, one since its last look, or since the baseline of the
// directory that is no longer shown.
//
// `known`: what an earlier scan of the same trees has found; what this one has found takes its
// place.
//
// kSetup where something can't be read, or there are more than a million changes. Meant for a
// thread of its own; the trees may change meanwhile, and what is said of a path is then of one
// moment or another.
Result<std::vector<Change>> ScanChanges(const ScannedTree& upper, const ScannedTree& lower,
                                        const Ledger& ledger, Differences* known = nullptr);

}  // namespace native_runner
