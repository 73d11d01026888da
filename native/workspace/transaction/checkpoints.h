#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// What of a transaction's directory says what commands have changed, and is in a checkpoint's too:
// a tree, and a file that goes with it.
struct CheckpointNames {
  const char* tree;
  const char* list;
  bool is_copy;
};

// As overlayfs keeps it, and what the host had there (host_file.h).
inline constexpr CheckpointNames kOverlayNames = {"upper", "ledger", false};

// A copy of the workspace, and what that was when it was made (host_file.h). What the host had
// then is the same at each checkpoint.
inline constexpr CheckpointNames kCopyNames = {"tree", "copies", true};

// The checkpoints of a transaction lie in its directory:
//
//   checkpoints/
//     ID/        whole, or not there
//       record   see journal.h
//       upper/   a copy of what commands had changed, see tree_copier.h
//       ledger   what the host had where something was changed
//       tree/    in the place of these: a copy of the copy that commands change files in
//       copies   what of that is as it was when the first was made, see CopyOnceMore
//     new-.../   one that was being made when its process died
//     gone-.../  one that was being removed
//
// `transaction`: its directory, open for reading. Whoever has the transaction's lock may call
// these, one at a time; they block as the file system does.

// Keeps what the transaction has changed so far. Nothing should be written to it meanwhile: kSetup
// where something was, again and again, so that the copy would be of no one moment.
//
// `file_systems`: those whose device numbers `ledger` and `copies` contain.
//
// `copies`: the transaction is a copy of the workspace, of which this tells what it was; it follows
// the ctimes that reading sets, on disk too.
Result<CheckpointRecord> MakeCheckpoint(int transaction, const std::string& name,
                                        const Ledger& ledger, CopyManifest* copies = nullptr,
                                        const FileSystemList& file_systems = {});

// Those that there are, the first first. Those of before another commit, or undo, are none any
// more, and neither are those whose record is not whole.
Result<std::vector<CheckpointRecord>> ListCheckpoints(int transaction);

// Removes what a death has left, and those that are none any more.
std::optional<Error> TidyCheckpoints(int transaction);

// Removes all that were made after this one.
std::optional<Error> DropLater(int transaction, const std::string& id);

// Copies those that there are into another transaction's directory, which has none and no commit.
std::optional<Error> CopyCheckpoints(int transaction, int to, const CheckpointNames& names,
                                     const FileSystemList& file_systems);

// Makes what a transaction has changed exactly what it was at a checkpoint; later ones are gone
// then. While that goes on, the transaction's directory (open for reading) has besides:
//
//   next-upper/ next-ledger   what is to take the place of the ones without "next-"
//   old-upper/                what was there
//   rollback                  the checkpoint's id: all of `next-` is there, and on disk
//   settling                  in its place once it is done, until the caller has noted that
//   (Settled)
//
// and for a copy of the workspace the same of the names that are kept of that. The overlay must not
// be mounted, and nothing have a place in the copy. Whoever has the transaction's lock may call
// these, one at a time; they block as the file system does.

// kInvalidValue where there is no checkpoint of this id any more; else, when it fails, nothing has
// changed, unless NeedsRollback.
std::optional<Error> RollBackTo(int transaction, const CheckpointNames& names,
                                const std::string& id, const FileSystemList& file_systems = {});

// Makes what a transaction has changed what `fill` makes of it, all or nothing, as RollBackTo does
// with what a checkpoint has; no checkpoint goes. `fill` gets the empty tree that is to take the
// place, open for reading, and returns the text of the list that goes with it. Its errors, and
// those of RollBackTo. `mark`: what ToBeSettled returns then; no id of a checkpoint.
std::optional<Error> ReplaceChanges(int transaction, const CheckpointNames& names,
                                    const std::string& mark,
                                    const std::function<Result<std::string>(int tree)>& fill);

// Returns what one of these two has done that its caller has not noted yet: the checkpoint's id, or
// the mark. nullopt: nothing.
Result<std::optional<std::string>> ToBeSettled(int transaction);
// It is noted.
void Settled(int transaction);

// Removes the files that one of these two has replaced, which takes as long as there are files. If
// it is not called, or ends early since IsStopped(), the next of the two does it. Never while one
// of them runs.
void RemoveReplaced(int transaction, const CheckpointNames& names);

// The name that the tree has until it takes the place; and that of a directory for what an overlay
// over it needs, which goes afterwards.
std::string NextTree(const CheckpointNames& names);
std::string NextWork();

// Whether one has begun and is not done: until then nothing may use the overlay, or the copy.
bool NeedsRollback(int transaction);

// One that a death has interrupted is done, where all that it needs is there: true. Else nothing
// is left of it.
Result<bool> RecoverRollback(int transaction, const CheckpointNames& names);

}  // namespace native_runner
