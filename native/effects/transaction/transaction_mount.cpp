// The overlay of a transaction: there while commands may run, gone while its files are moved.
#include <ctime>
#include <utility>

#include "effects/checkpoint/rollback.h"
#include "effects/transaction/transaction.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

std::optional<Error> Transaction::Mount() {
  if (NeedsRollback(directory_.descriptor())) {
    const auto rolled_back = RecoverRollback(directory_.descriptor(), directory_.kept_names());
    if (!rolled_back) return rolled_back.error();
    if (auto error = TakeKept()) return error;
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
  // One that was not unmounted, since nothing came of a commit, still shows what it has shown.
  if (!workspace_) fresh_->BeginAnew();
  // A copy stays what it is, but for a rollback.
  if (!workspace_) {
    if (auto error = Keep(*workspace)) return error;
  }
  fresh_->current()->Set(workspace_);
  return std::nullopt;
}

std::optional<Error> Transaction::WaitForEnds() {
  constexpr timespec kMoment = {0, 1'000'000};
  constexpr int kMost = 30'000;  // half a minute, of those who were told to end
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

// What is to be taken from an overlay must not be shown by it; a copy stays, and nobody enters it.
std::optional<Error> Transaction::Unmount() {
  if (auto error = WaitForEnds()) return error;
  if (!copy_) workspace_.reset();
  return std::nullopt;
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
  kept.reset();  // no user of it: see Freshness
  if (is_copy) return std::nullopt;
  const auto upper = directory_.OpenUpper();
  if (!upper) return upper.error();
  if (auto error = fresh_->Freshen(directory_.record().workspace, upper.value().get())) {
    return error;
  }
  // What is changed from now on has seen what the host has now, so that none of that is a conflict.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  const auto trees = OpenTrees();
  if (trees) static_cast<void>(LookAt(trees.value()));
  return std::nullopt;
}

}  // namespace native_runner
