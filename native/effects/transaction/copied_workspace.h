#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "effects/commit/commit.h"
#include "effects/copy/copy_progress.h"
#include "effects/transaction/transaction_directory.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/copy_manifest.h"
#include "policy/transaction/ledger.h"
#include "supervise/os/workspace.h"

namespace native_runner {

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
