#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "policy/text/text.h"
#include "policy/transaction/journal.h"
#include "supervise/os/file.h"
#include "supervise/transaction/entry.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/commit/commit_directory.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"

// Opens new transactions, and resumes those that a process has left.

namespace native_runner {
namespace {

// Hides from the overlay the backups that commits of any transaction keep in the workspace.
std::optional<Error> HideBackup(const TransactionDirectory& directory, const Workspace& workspace) {
  Descriptor host(openat(workspace.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!host.valid()) return SystemError("open of the workspace", errno);
  const ScannedDirectory top(std::move(host));
  const auto names = top.Names();
  if (!names) return names.error();
  for (const std::string& name : names.value()) {
    if (!IsBackupPath(name)) continue;
    const auto upper = directory.OpenUpper();
    if (!upper) return upper.error();
    if (mknodat(upper.value().get(), name.c_str(), S_IFCHR, 0) != 0 && errno != EEXIST) {
      return SystemError("mknod of a whiteout", errno);
    }
  }
  return std::nullopt;
}

Error OtherBackend(const std::string& asked, const std::string& backend) {
  return Error{ErrorCode::kInvalidValue,
               "Expected `backend` to be \"auto\" or \"" + backend +
                   "\", which the transaction is, " + "got " + QuotedShort(asked),
               ""};
}

std::optional<Error> CheckBackend(Transaction::Backend asked, const std::string& backend) {
  if (asked == Transaction::Backend::kOverlay && backend != kOverlayBackend) {
    return OtherBackend(kOverlayBackend, backend);
  }
  if (asked == Transaction::Backend::kCopy && backend != kCopyBackend) {
    return OtherBackend(kCopyBackend, backend);
  }
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<Transaction>> Transaction::Resume(const Options& options,
                                                         const std::string& id) {
  auto workspace = OpenWorkspace(options.workspace);
  if (!workspace) return workspace.error();
  auto directory = TransactionDirectory::Open(options.directory, id);
  if (!directory) return directory.error();
  const TransactionRecord& record = directory->record();
  if (record.workspace != workspace->path) {
    return Error{ErrorCode::kSetup,
                 "the transaction " + id + " is of the workspace " + record.workspace +
                     ", not of " + workspace->path,
                 "resume it with a runner of that workspace"};
  }
  auto moved = CheckUnmoved(record.workspace, record.identity, workspace->directory.get());
  if (moved) return *moved;
  if (auto error = CheckBackend(options.backend, record.backend)) return *error;
  if (!directory->is_copy()) {
    if (auto error = CheckOverlay(*workspace)) return *error;
  }
  std::shared_ptr<Transaction> transaction(
      new Transaction(std::move(*directory), options.launcher));
  transaction->caches_ = transaction->directory_.CachesOf(options.caches);
  if (auto error = transaction->TakeUp()) return *error;
  return transaction;
}

std::optional<Error> Transaction::TakeUp() {
  const auto rolled_back = RecoverRollback(directory_.descriptor(), directory_.kept_names());
  if (!rolled_back) return rolled_back.error();
  if (rolled_back.value()) recovered_ = Recovered::kCompleted;
  if (rolled_back.value() || directory_.is_copy()) {
    if (auto error = TakeMounted()) return error;
  }
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto note = [&](const Recovery& found) {
    CommitEnd end;
    if (found.recovered != Recovered::kCompleted) end.failed = TornCommit();
    end.touched = found.touched;
    end.kind = found.kind;
    end.is_whole = false;
    // A ledger that could not be kept reports more conflicts later, never fewer.
    static_cast<void>(Refresh(end, trees.value()));
  };
  const auto recovery = RecoverCommit(directory_.descriptor(), trees.value().lower.root(),
                                      trees.value().upper.root(), note);
  if (!recovery) return recovery.error();
  if (recovery.value().recovered != Recovered::kNothing) recovered_ = recovery.value().recovered;
  static_cast<void>(TidyCheckpoints(directory_.descriptor()));  // else the next checkpoint does it
  // What a death has left; else who makes the next one does it.
  static_cast<void>(RemoveOwn(directory_.descriptor(), kMergingTexts));
  static_cast<void>(RemoveOwn(directory_.descriptor(), kPartedTree));
  if (!copy_) earlier_.Resume(directory_.descriptor());
  if (auto error = Mount()) return error;
  // Changes that no look has noted were made after the last look.
  workspace_->entered_ns = ledger_.looked_ns;
  SettleLeft();
  DropStagedBases(directory_.descriptor());
  return std::nullopt;
}

std::optional<Error> Transaction::Keep(const Workspace& workspace) {
  if (copy_) {
    auto kept = OpenCopiedWorkspace(fresh_->launcher(), workspace, directory_.path(),
                                    directory_.tree(), caches_);
    if (!kept) return kept.error();
    workspace_ = std::move(*kept);
    return std::nullopt;
  }
  if (auto error = HideBackup(directory_, workspace)) return error;
  // The mount of a process that has just died may still exist for a moment.
  constexpr timespec kMoment = {0, 10'000'000};
  constexpr int kMost = 100;
  auto kept = MountOverlay(fresh_->launcher(), workspace, directory_.overlay(), caches_);
  for (int left = kMost; !kept && left > 0; --left) {
    nanosleep(&kMoment, nullptr);
    kept = MountOverlay(fresh_->launcher(), workspace, directory_.overlay(), caches_);
  }
  if (!kept) return kept.error();
  workspace_ = std::move(*kept);
  return std::nullopt;
}

Result<std::shared_ptr<Transaction>> Transaction::Open(const Options& options) {
  auto workspace = OpenWorkspace(options.workspace);
  if (!workspace) return workspace.error();
  if (options.backend == Backend::kCopy) return OpenCopy(options, *workspace);
  auto overlay = OpenOverlay(options, *workspace);
  const bool may_copy = options.backend == Backend::kAuto && !overlay &&
                        overlay.error().code == ErrorCode::kUnavailable;
  if (!may_copy) return overlay;
  auto copy = OpenCopy(options, *workspace);
  if (!copy) {
    if (copy.error().code != ErrorCode::kClosed) {
      copy.error().message += " (a copy was to be made because " + overlay.error().message + ")";
    }
    return copy;
  }
  (*copy)->backend_reason_ = std::move(overlay.error().message);
  return copy;
}

Result<std::shared_ptr<Transaction>> Transaction::OpenOverlay(const Options& options,
                                                              const Workspace& workspace) {
  if (auto error = CheckOverlay(workspace)) return *error;
  if (!options.bwrap.empty()) {
    if (auto error = CheckBindFd(options.bwrap)) return *error;
  }
  constexpr auto kKind = TransactionDirectory::Kind::kOverlay;
  auto directory = TransactionDirectory::Make(options.directory, workspace, kKind);
  if (!directory) return directory.error();
  auto caches = directory->CachesOf(options.caches);
  auto hidden = HideBackup(*directory, workspace);
  auto kept = hidden ? Result<std::shared_ptr<const MountedWorkspace>>(std::move(*hidden))
                     : MountOverlay(options.launcher, workspace, directory->overlay(), caches);
  if (!kept) {
    static_cast<void>(directory->Remove());
    return kept.error();
  }
  std::shared_ptr<Transaction> transaction(
      new Transaction(std::move(*directory), options.launcher, std::move(*kept)));
  transaction->caches_ = std::move(caches);
  transaction->opened_ns_ = WaitForTickOf(workspace.directory.get());
  return transaction;
}

Result<std::shared_ptr<Transaction>> Transaction::OpenCopy(const Options& options,
                                                           const Workspace& workspace) {
  constexpr auto kKind = TransactionDirectory::Kind::kCopy;
  auto directory = TransactionDirectory::Make(options.directory, workspace, kKind);
  if (!directory) return directory.error();
  auto caches = directory->CachesOf(options.caches);
  Ledger ledger;
  auto copy = CopiedWorkspace::Make(*directory, workspace, options.most_bytes,
                                    options.progress.get(), &ledger);
  auto kept = copy ? OpenCopiedWorkspace(options.launcher, workspace, directory->path(),
                                         directory->tree(), caches)
                   : Result<std::shared_ptr<const MountedWorkspace>>(std::move(copy.error()));
  if (!kept) {
    static_cast<void>(directory->Remove());
    return kept.error();
  }
  std::shared_ptr<Transaction> transaction(
      new Transaction(std::move(*directory), options.launcher, std::move(*kept)));
  transaction->caches_ = std::move(caches);
  transaction->opened_ns_ = ledger.looked_ns;
  transaction->ledger_ = std::move(ledger);
  transaction->copy_.emplace(std::move(*copy));
  transaction->copied_ = Copied{options.progress->files, options.progress->bytes};
  return transaction;
}

// Mounts the overlay while commands may run, and unmounts it while its files are moved.

std::optional<Error> Transaction::Mount() {
  if (NeedsRollback(directory_.descriptor())) {
    const auto rolled_back = RecoverRollback(directory_.descriptor(), directory_.kept_names());
    if (!rolled_back) return rolled_back.error();
    if (auto error = TakeMounted()) return error;
    Settled(directory_.descriptor());  // whoever began it has been told that it failed
  }
  if (IsCommitPending(directory_.descriptor())) {
    return Error{ErrorCode::kSetup, "a commit has still to be taken back, or completed",
                 "close the transaction, and open it again"};
  }
  const TransactionRecord& record = directory_.record();
  auto workspace = OpenWorkspace(record.workspace);
  if (!workspace) return workspace.error();
  const int directory = workspace->directory.get();
  if (auto error = CheckUnmoved(record.workspace, record.identity, directory)) return error;
  // An overlay that was not unmounted, since a commit was refused, still shows the same.
  if (!workspace_) fresh_->BeginAnew();
  // A copy stays the same, except after a rollback.
  if (!workspace_) {
    if (auto error = Keep(*workspace)) return error;
  }
  fresh_->current()->Set(workspace_);
  return std::nullopt;
}

std::optional<Error> Transaction::WaitForEnds() {
  constexpr timespec kMoment = {0, 1'000'000};
  constexpr int kMost = 30'000;  // half a minute, for runs that are ending
  if (!workspace_) return std::nullopt;
  fresh_->current()->Set(nullptr);
  for (int left = kMost; workspace_.use_count() > 1; --left) {
    if (left == 0) {
      fresh_->current()->Set(workspace_);
      return Error{ErrorCode::kSetup, "something still runs in the transaction", ""};
    }
    nanosleep(&kMoment, nullptr);
  }
  return std::nullopt;
}

// An overlay must not be mounted while files are taken from it. A copy stays, and no run enters it.
std::optional<Error> Transaction::Unmount() {
  if (auto error = WaitForEnds()) return error;
  if (!copy_) LeaveOverlay();
  return std::nullopt;
}

void Transaction::LeaveOverlay() {
  if (workspace_ && !copy_) earlier_.Add(workspace_->root.get());
  workspace_.reset();
}

std::optional<Error> Transaction::Freshen() {
  auto kept = fresh_->current()->Enter();
  if (!kept) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return WasClosed();
    kept = fresh_->current()->Enter();
    if (!kept) {
      if (auto error = Mount()) return error;
      kept = workspace_;
    }
  }
  const bool is_copy = !kept->copy.empty();
  kept.reset();  // must not count as a user, see Freshness
  if (is_copy) return std::nullopt;
  const auto upper = directory_.OpenUpper();
  if (!upper) return upper.error();
  if (auto error = fresh_->Freshen(directory_.record().workspace, upper.value().get())) {
    return error;
  }
  // Later changes have seen the host's files as they are now, so that these are no conflicts.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  const auto trees = OpenTrees();
  if (trees) static_cast<void>(LookAt(trees.value()));
  return std::nullopt;
}

}  // namespace native_runner
