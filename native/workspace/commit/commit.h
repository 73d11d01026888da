#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// What a commit leaves on disk, in the transaction's directory:
//
//   commit/
//     plan     the journal of what is being done; gone when it was done, or taken back
//     begun    what of `plan` a death has left begun, while that is taken back
//     done     the journal of the last commit, with what it has made of the host's files
//     undone   in the place of `plan` when the last commit was taken back: all of it can go
//     torn     in the place of `plan` when something could not be taken back, since somebody else
//              has changed it meanwhile; what it was is in `aside`
//     aside/   what the host's files were; and what goes there, until it does
//     place    where the transaction is on another file system: names a directory beside the
//              workspace, or in it, which is there in place of `aside` (journal.h)
//     kept/    and there, what the transaction had of what was committed
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
  Journal::Kind kind = Journal::Kind::kCommit;  // of what was done
  // Whether all that was committed is what the transaction has: not where contents were given, nor
  // where a death has left nobody who knows.
  bool is_whole = true;
};

// Does all that the changes (choose.h) need, or nothing. Each of the host's files must be what the
// ledger says that it was: a change of it between the look at which that was compared and the end
// is a conflict. `transaction`, its directory, `host` and `upper` are open for reading.
//
// `copies`: the manifest if `upper` is a copy of the workspace, which stays as it is; else nullptr,
// and the committed files leave `upper`, except those whose contents are given.
// `has_earlier_overlay`: see PlanOptions.
CommitEnd CommitChanges(int transaction, int host, int upper, const std::vector<Change>& changes,
                        const Ledger& ledger, const CopyManifest* copies = nullptr,
                        const GivenContents& contents = {}, bool has_earlier_overlay = false);

// Takes the last commit back, unless the host has changed what it wrote: then a conflict.
CommitEnd UndoCommit(int transaction, int host, int upper);

// Whether there is a commit that could be taken back.
bool HasCommit(int transaction);

// Whether one has begun, and is neither done nor taken back: until it is, nothing may be written to
// the upper directory.
bool IsCommitPending(int transaction);

// Whether what a death, or somebody else, has left of a commit is still to be taken care of: until
// then, what the host's files were may lie in `aside` and nowhere else.
bool NeedsRecovery(int transaction);

// Why a transaction that was torn is not to be removed, or committed.
Error TornCommit();

enum class Recovered : std::uint8_t { kNothing, kRolledBack, kCompleted, kTorn };
struct Recovery {
  Recovered recovered = Recovered::kNothing;
  std::vector<Operation> touched;  // as in CommitEnd
  Journal::Kind kind = Journal::Kind::kCommit;
};

// Removes what is kept of a commit that was taken back, once it is noted what the host has.
void ForgetUndone(int transaction);

// What RecoverCommit is going to find, as far as the journals tell; nothing is done. One that is to
// be rolled back may turn out to be torn; one that can't be looked at counts as torn.
Recovered ForeseeRecovery(int transaction);

// What a death in one of the above has left is taken back, or completed where all of it was done.
// `note` is called when that is on disk, and before it is forgotten that there was anything to do:
// a death in between lets the next do it again.
Result<Recovery> RecoverCommit(int transaction, int host, int upper,
                               const std::function<void(const Recovery&)>& note = {});

}  // namespace native_runner
