#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "supervise/os/file.h"
#include "workspace/commit/commit.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// A copy of a workspace: what the host had, and what was made of it.
struct CopiedTree {
  Ledger ledger;  // the baseline of each path
  CopyManifest manifest;
};

// Copies all that a directory holds, what is mounted in it too, into `to`, an empty one that is
// open for reading and has no other user. Hard links among the files are links among the copies,
// and lead to nothing else. Devices, and what commits keep aside (journal.h), are left out: to
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

// The copy of a workspace that a transaction's commands change, and what it was when it was made or
// last committed. Its transaction's; any thread, one at a time.
class CopiedWorkspace {
 public:
  // Makes the copy in an empty directory, with its ledger, and completes that. As CopyTree.
  static Result<CopiedWorkspace> Make(const TransactionDirectory& directory,
                                      const Workspace& workspace, std::uint64_t most_bytes,
                                      CopyProgress* progress, Ledger* ledger);

  // One that a process has left. kSetup where it is not whole.
  static Result<CopiedWorkspace> Load(const TransactionDirectory& directory, const Ledger& ledger);

  const CopyManifest& manifest() const { return manifest_; }
  CopyManifest& manifest() { return manifest_; }

  // After a commit, what was brought to the host is no change any more; after one was undone, host
  // and copy are compared at the paths that were touched. Where the host has something else
  // by now than was left there, that is a conflict for good.
  std::optional<Error> Follow(const CommitEnd& end, const ScannedTree& copy,
                              const ScannedTree& host, const TransactionDirectory& directory,
                              Ledger* ledger);

 private:
  explicit CopiedWorkspace(CopyManifest manifest) : manifest_(std::move(manifest)) {}

  CopyManifest manifest_;
};

}  // namespace native_runner
