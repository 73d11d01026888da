#pragma once

#include <optional>
#include <string>

#include "effects/changes/scanned_tree.h"
#include "effects/copy/copy_progress.h"
#include "policy/result.h"
#include "policy/transaction/host_file.h"

namespace native_runner {

// What was copied, as it was while it was copied, and the copy as it is now.
struct CopiedEntry {
  Node original;
  Node copy;
};

// How copies are made.
struct CopyRules {
  CopyProgress* progress;
  // Whose mode, owner and group a copy must have, or it is none: kSetup. nullptr: those of the
  // original, as far as this user may give them.
  const HostFile* like = nullptr;
};

// Makes a copy of what is neither directory nor device: contents with their holes, extended
// attributes of a user's, mode, owner and times, never a hard link. One that is changed while it is
// copied is copied anew. nullopt: there is nothing of this name, or a directory, or a device.
//
// `to`: the directory in which it gets the name `to_name`, which nothing has. kSetup, naming
// `shown`, where something of it can't be read or made: there is nothing of it then; without `like`
// kUnavailable where this user may not read it. kClosed when it is to stop. Any thread.
Result<std::optional<CopiedEntry>> CopyEntry(const ScannedDirectory& from, const std::string& name,
                                             int to, const std::string& to_name,
                                             const std::string& shown, const CopyRules& rules);

// Gives a directory that is open for reading mode, owner and times, as CopyEntry does; 0, or of
// errno(3).
int GiveAttributes(int directory, const Node& like, bool is_exact);

}  // namespace native_runner
