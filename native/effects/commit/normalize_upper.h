#pragma once

#include <optional>

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

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

// Removes overlayfs' own notes (user.overlay.*) from a regular file of the upper directory.
std::optional<Error> StripNotes(const ScannedDirectory& directory, const std::string& name);

}  // namespace native_runner
