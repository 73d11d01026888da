#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "effects/commit/sites.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

// What a commit leaves on disk, in the transaction's directory:
//
//   commit/
//     plan     the journal of what is being done; gone when it was done, or taken back
//     done     the journal of the last commit, with what it has made of the host's files
//     undone   in the place of `plan` when the last commit was taken back: all of it can go
//     torn     in the place of `plan` when something could not be taken back, since somebody else
//              has changed it meanwhile; what it was is in `aside`
//     aside/   what the host's files were
//
// Each file is whole or not there, and on disk before what depends on it begins. Whoever has the
// transaction's lock may call these, one at a time; they block as the file system does.

// How a commit, or taking one back, came out.
struct CommitEnd {
  // Empty: it was done. Else nothing has changed, and this says why.
  std::optional<Error> failed;
  std::vector<std::string> conflicts;  // the paths, where `failed` is somebody else's doing
  // What was done, or begun and taken back: the host's files at these paths have another ctime.
  std::vector<Operation> touched;
};

// Does all that the changes (choose.h) need, or nothing. Each of the host's files must be what the
// ledger says that it was: whatever is changed from the look at which that was compared until the
// end is a conflict. `transaction`: its directory, open for reading; `host`, `upper`: as well.
CommitEnd CommitChanges(int transaction, int host, int upper, const std::vector<Change>& changes,
                        const Ledger& ledger);

// Takes the last commit back, unless the host has changed what it wrote: then a conflict.
CommitEnd UndoCommit(int transaction, int host, int upper);

// Whether there is a commit that could be taken back.
bool HasCommit(int transaction);

// Whether what a death, or somebody else, has left of a commit is still to be taken care of: until
// then, what the host's files were may lie in `aside` and nowhere else.
bool NeedsRecovery(int transaction);

// Why a transaction that was torn is not to be removed, or committed.
Error TornCommit();

enum class Recovered : std::uint8_t { kNothing, kRolledBack, kCompleted, kTorn };
struct Recovery {
  Recovered recovered = Recovered::kNothing;
  std::vector<Operation> touched;  // as in CommitEnd
};

// What a death in one of the above has left is taken back, or completed where all of it was done.
Result<Recovery> RecoverCommit(int transaction, int host, int upper);

}  // namespace native_runner
