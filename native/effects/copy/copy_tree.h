#pragma once

#include <cstdint>

#include "effects/changes/scanned_tree.h"
#include "effects/copy/copy_progress.h"
#include "policy/result.h"
#include "policy/transaction/copy_manifest.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// A copy of a workspace: what the host had, and what was made of it.
struct CopiedTree {
  Ledger ledger;  // the baseline of each path
  CopyManifest manifest;
};

// Copies all that a directory holds, what is mounted in it too, into `to`, an empty one that is
// open for reading and has no other user. Hard links among the files are links among the copies,
// and lead to nothing else. Devices, and what commits keep aside (aside_place.h), are left out: to
// the transaction they are not there.
//
// The host may change its files meanwhile: each is of one moment, all of them are not. What it
// changes after that is told from what it had then.
//
// kUnavailable where the files have more bytes than `most_bytes`, naming `maxBytes`, or this user
// may not read one; kSetup where something can't be made, or there are more than a million; kClosed
// when it is to stop. What was made of it stays.
Result<CopiedTree> CopyTree(const ScannedTree& from, int to, std::uint64_t most_bytes,
                            CopyProgress* progress);

}  // namespace native_runner
