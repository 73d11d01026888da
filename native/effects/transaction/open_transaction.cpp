#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/rollback.h"
#include "effects/commit/commit_directory.h"
#include "effects/transaction/transaction.h"
#include "policy/text/quote.h"
#include "policy/transaction/aside_place.h"
#include "supervise/os/file_clock.h"
#include "supervise/transaction/bind_fd_check.h"
#include "supervise/transaction/entry.h"
#include "supervise/transaction/overlay_checks.h"

// How a transaction comes to be open: one that is new, or one that a process has left.

namespace native_runner {
namespace {

// What commits of any transaction keep aside in the workspace itself is shown by no overlay.
std::optional<Error> HideAside(const TransactionDirectory& directory, const Workspace& workspace) {
  Descriptor host(openat(workspace.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!host.valid()) return SystemError("open of the workspace", errno);
  const ScannedDirectory top(std::move(host));
  const auto names = top.Names();
  if (!names) return names.error();
  for (const std::string& name : names.value()) {
    if (!IsAsidePath(name)) continue;
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
  if (auto error = transaction->TakeUp()) return *error;
  return transaction;
}

std::optional<Error> Transaction::TakeUp() {
  const auto rolled_back = RecoverRollback(directory_.descriptor(), directory_.kept_names());
  if (!rolled_back) return rolled_back.error();
  if (rolled_back.value()) recovered_ = Recovered::kCompleted;
  if (rolled_back.value() || directory_.is_copy()) {
    if (auto error = TakeKept()) return error;
  }
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto note = [&](const Recovery& found) {
    CommitEnd end;
    if (found.recovered != Recovered::kCompleted) end.failed = TornCommit();
    end.touched = found.touched;
    end.kind = found.kind;
    end.is_whole = false;
    // A ledger that could not be kept tells of more conflicts later, never of less.
    static_cast<void>(Refresh(end, trees.value()));
  };
  const auto recovery = RecoverCommit(directory_.descriptor(), trees.value().lower.root(),
                                      trees.value().upper.root(), note);
  if (!recovery) return recovery.error();
  if (recovery.value().recovered != Recovered::kNothing) recovered_ = recovery.value().recovered;
  static_cast<void>(TidyCheckpoints(directory_.descriptor()));  // else the next checkpoint does it
  if (auto error = Mount()) return error;
  // What no look has noted was changed after the last one.
  workspace_->entered_ns = ledger_.looked_ns;
  return std::nullopt;
}

std::optional<Error> Transaction::Keep(const Workspace& workspace) {
  if (copy_) {
    auto kept = KeepCopy(workspace, directory_.path(), directory_.tree());
    if (!kept) return kept.error();
    workspace_ = std::move(*kept);
    return std::nullopt;
  }
  if (auto error = HideAside(directory_, workspace)) return error;
  // The mount of a process that has just died may be about to go.
  constexpr timespec kMoment = {0, 10'000'000};
  constexpr int kMost = 100;
  auto kept = KeepWorkspace(fresh_->launcher(), workspace, directory_.overlay());
  for (int left = kMost; !kept && left > 0; --left) {
    nanosleep(&kMoment, nullptr);
    kept = KeepWorkspace(fresh_->launcher(), workspace, directory_.overlay());
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
  auto hidden = HideAside(*directory, workspace);
  auto kept = hidden ? Result<std::shared_ptr<const KeptWorkspace>>(std::move(*hidden))
                     : KeepWorkspace(options.launcher, workspace, directory->overlay());
  if (!kept) {
    static_cast<void>(directory->Remove());
    return kept.error();
  }
  std::shared_ptr<Transaction> transaction(
      new Transaction(std::move(*directory), options.launcher, std::move(*kept)));
  transaction->opened_ns_ = WaitForTick();
  return transaction;
}

Result<std::shared_ptr<Transaction>> Transaction::OpenCopy(const Options& options,
                                                           const Workspace& workspace) {
  constexpr auto kKind = TransactionDirectory::Kind::kCopy;
  auto directory = TransactionDirectory::Make(options.directory, workspace, kKind);
  if (!directory) return directory.error();
  Ledger ledger;
  auto copy = CopiedWorkspace::Make(*directory, workspace, options.most_bytes,
                                    options.progress.get(), &ledger);
  auto kept = copy ? KeepCopy(workspace, directory->path(), directory->tree())
                   : Result<std::shared_ptr<const KeptWorkspace>>(std::move(copy.error()));
  if (!kept) {
    static_cast<void>(directory->Remove());
    return kept.error();
  }
  std::shared_ptr<Transaction> transaction(
      new Transaction(std::move(*directory), options.launcher, std::move(*kept)));
  transaction->opened_ns_ = ledger.looked_ns;
  transaction->ledger_ = std::move(ledger);
  transaction->copy_.emplace(std::move(*copy));
  transaction->copied_ = Copied{options.progress->files, options.progress->bytes};
  return transaction;
}

}  // namespace native_runner
