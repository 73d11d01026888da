#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/checkpoint_record.h"
#include "policy/transaction/copy_manifest.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// The checkpoints of a transaction lie in its directory:
//
//   checkpoints/
//     ID/        whole, or not there
//       record   see checkpoint_record.h
//       upper/   a copy of what commands had changed, see tree_copier.h
//       ledger   what the host had where something was changed
//       tree/    in the place of these: a copy of the copy that commands change files in
//       copies   what of that is as it was when the first was made, see second_copy.h
//     new-.../   one that was being made when its process died
//     gone-.../  one that was being removed
//
// `transaction`: its directory, open for reading. Whoever has the transaction's lock may call
// these, one at a time; they block as the file system does.

// Keeps what the transaction has changed so far. Nothing should be written to it meanwhile: kSetup
// where something was, again and again, so that the copy would be of no one moment.
//
// `copies`: the transaction is a copy of the workspace, of which this tells what it was; it follows
// the ctimes that reading sets, on disk too.
Result<CheckpointRecord> MakeCheckpoint(int transaction, const std::string& name,
                                        const Ledger& ledger, CopyManifest* copies = nullptr);

// Those that there are, the first first. Those of before another commit, or undo, are none any
// more, and neither are those whose record is not whole.
Result<std::vector<CheckpointRecord>> ListCheckpoints(int transaction);

// Removes what a death has left, and those that are none any more.
std::optional<Error> TidyCheckpoints(int transaction);

// Removes all that were made after this one.
std::optional<Error> DropLater(int transaction, const std::string& id);

}  // namespace native_runner
