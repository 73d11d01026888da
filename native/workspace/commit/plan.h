#pragma once

#include <cstdint>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// What becomes of what the transaction has of a file that is committed.
enum class UpperUse : std::uint8_t {
  kMove,   // it is the host's file from then on
  kStage,  // it is on another file system: a copy of it is, and it goes to kUpperBackup
  kCopy,   // it is a copy of a workspace: a copy of it is, and it stays
};

struct PlanOptions {
  UpperUse use = UpperUse::kMove;
  const CopyManifest* copies = nullptr;  // of kCopy, with `ledger`: what it was
  const Ledger* ledger = nullptr;
  const GivenContents* contents = nullptr;  // of files that stay in `upper` as they are
};

// What makes the host's files as the changes say, and leaves the upper directory without those.
// `changes` are in the order of their paths, and whole: with each directory that another is to be
// made in, and with all that is in a directory that is to go.
//
//   added file        upper ─► host
//   modified file     upper ─► aside, then it and the host's change places
//   deleted           whiteout ─► aside, host ─► aside: from the lowest up
//   added directory   made in `aside`, as the upper one is ─► host: from the top down
//   mode, owner       of directories; first where its owner may not change names in one, else last
//
// Of a file whose contents are given, a copy with these is made aside, and exchanged with the
// host's; what is in `upper` stays.
//
// Where host and upper are on two file systems, a copy that is made aside is what comes to the
// host, and the last step of each takes what is in `upper` to `kept`; of a copy of a workspace,
// nothing.
//
// So each of the host's files is replaced by one rename, and what it was stays as the file that it
// is. Everything is looked at, directories are made in `aside`, overlayfs' notes are taken from the
// files of the upper directory; nothing of the host's is touched. kSetup where that fails, as for
// want of space.
Result<std::vector<Operation>> PlanCommit(const Sites& sites, const std::vector<Change>& changes,
                                          const PlanOptions& options);

}  // namespace native_runner
