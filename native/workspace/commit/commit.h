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

// The files of a commit in the transaction's directory:
//
//   commit/
//     plan     the journal of the commit or undo that is under way; removed once the transaction
//              has noted on disk what it has left (ForgetPlan, ForgetUndone)
//     begun    the begun operations of `plan` after a death, while they are taken back
//     done     the journal of the last commit, with the host's files as it has left them
//     undone   in place of `plan` after the last commit was taken back: everything can be removed
//     torn     in place of `plan` if something could not be taken back because another process has
//              changed it meanwhile; the backup of it is in `aside`
//     aside/   the backups of the host's files; before a rename, also new files of the host's
//     place    if the transaction is on another file system: names a directory beside the
//              workspace, or in it, which replaces `aside` (journal.h)
//     kept/    in that case, the committed files of the transaction
//
// Each file is complete or missing, and on disk before anything that depends on it begins. The
// holder of the transaction's lock may call these functions, one at a time; they block as the file
// system does.

// The result of a commit or an undo.
struct CommitEnd {
  // nullopt: it was done. Otherwise nothing has changed, unless it is torn, and this is the reason.
  std::optional<Error> failed;
  // Neither done nor taken back whole, since another process has changed files in between.
  bool is_torn = false;
  std::vector<std::string> conflicts;  // the paths, if another process has caused `failed`
  // Operations that were done, or begun and taken back: the host's files have another ctime.
  std::vector<Operation> touched;
  Journal::Kind kind = Journal::Kind::kCommit;  // of the journal that was done
  std::uint64_t changed_ns = 0;  // when the last of the host's files was changed, since 1970
  // True if all committed files are as the transaction has them: false if contents were given, and
  // after a death.
  bool is_whole = true;
};

// Does all that the changes (choose.h) need, or nothing. Each of the host's files must be what the
// ledger says that it was: a change of it between the look at which that was compared and the end
// is a conflict. `transaction`, its directory, `host` and `upper` are open for reading.
//
// `copies`: the manifest if `upper` is a copy of the workspace, which stays as it is; else nullptr,
// and the committed files leave `upper`, except those whose contents are given.
// `has_earlier_overlay`: see PlanOptions. The caller notes what a commit that was done has left,
// and then calls ForgetPlan: after a death in between, RecoverCommit has it noted.
CommitEnd CommitChanges(int transaction, int host, int upper, const std::vector<Change>& changes,
                        const Ledger& ledger, const CopyManifest* copies = nullptr,
                        const GivenContents& contents = {}, bool has_earlier_overlay = false);

// Removes the plan of a commit that was done.
void ForgetPlan(int transaction);

// Takes the last commit back. A conflict if the host has changed a file that it wrote. As for a
// commit, ForgetUndone comes after the caller's notes.
CommitEnd UndoCommit(int transaction, int host, int upper);

// True if a commit exists that could be taken back.
bool HasCommit(int transaction);

// True if a commit has begun that is neither done nor taken back. Until then, nothing may be
// written to the upper directory.
bool IsCommitPending(int transaction);

// True if an interrupted or torn commit still needs care. Until then, `aside` may have the only
// copy of the host's files.
bool NeedsRecovery(int transaction);

// The error for removing or committing a transaction that was torn.
Error TornCommit();

enum class Recovered : std::uint8_t { kNothing, kRolledBack, kCompleted, kTorn };
struct Recovery {
  Recovered recovered = Recovered::kNothing;
  std::vector<Operation> touched;  // as in CommitEnd
  Journal::Kind kind = Journal::Kind::kCommit;
};

// Removes the backups of a commit that was taken back, after the host's files were noted.
void ForgetUndone(int transaction);

// Predicts the result of RecoverCommit from the journals alone; changes nothing. kRolledBack may
// become kTorn. A commit that can't be read counts as torn.
Recovered ForeseeRecovery(int transaction);

// Takes back a commit or undo that a death has interrupted, or completes it if all operations were
// done. Calls `note` when that is on disk and before the journal is removed: after a death in
// between, the next call repeats it.
Result<Recovery> RecoverCommit(int transaction, int host, int upper,
                               const std::function<void(const Recovery&)>& note = {});

// Contents of the host's files that a commit or an undo takes away, where times don't tell that
// they were written to (same_file.h, Operation::contents). Any thread.

// True if nothing was noted, or there is a file with these contents.
bool HasContents(SitesView* view, const SitePath& place,
                 const std::optional<std::uint64_t>& contents);

// Gives the operations the contents of the host's files that were noted before the transaction.
void AddContents(const Ledger& ledger, std::vector<Operation>* operations);

// Returns the paths of the host's files that were taken away, and have other contents than were
// noted, with the same times. One with other times was written to after that: it is in the backup.
std::vector<std::string> WrittenMeanwhile(const Sites& sites, const Journal& plan);

// By operation.
using Contents = std::vector<std::optional<std::uint64_t>>;

// Returns, for each operation that is going to put a file on the host, its contents where times
// would not tell a change of them there. Nobody can write to it before it is there.
Contents ToBePut(const Sites& sites, const std::vector<Operation>& operations);

}  // namespace native_runner
