#pragma once

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"
#include "policy/transaction/copy_manifest.h"

namespace native_runner {

// Who may have changed the files of a copy of a workspace. Nobody changes those of a checkpoint:
// but whoever reads one whose mode keeps its owner out sets its ctime.
enum class ChangedBy { kCommands, kNobody };

// Copies a copy of a workspace once more, into the directory `to`, as TreeCopier does, and gives
// the manifest of that: where `from` was as its own manifest says, `to` is as the new one does, and
// elsewhere it is not. What is changed in either from when this returns on has another ctime.
//
// `manifest`: that of `from`, which follows the ctimes that reading has set, also where this fails.
Result<CopyManifest> CopyOnceMore(const ScannedTree& from, ChangedBy who, int to,
                                  CopyManifest* manifest);

// Whether CopyOnceMore may have set ctimes of what the manifest is of.
bool HasShutFiles(const CopyManifest& manifest);

}  // namespace native_runner
