#pragma once

#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/copy_manifest.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// What commands have changed in a copy of a workspace, in the order of the paths' bytes: as
// ScanChanges tells it of an overlay. What is as the manifest has it was not changed, and is not
// read; of the rest, what the host has by now too is no change. A change of the host's since the
// ledger's baseline of the path, or to a directory above, is a conflict.
//
// `copy`: the copy's tree; `host`: the workspace. kSetup where something can't be read, or there
// are more than a million changes. The trees may change meanwhile.
Result<std::vector<Change>> ScanCopy(const ScannedTree& copy, const ScannedTree& host,
                                     const CopyManifest& manifest, const Ledger& ledger);

}  // namespace native_runner
