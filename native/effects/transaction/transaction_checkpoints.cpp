// The checkpoints of a transaction, and the way back to one.
#include <algorithm>
#include <utility>

#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/rollback.h"
#include "effects/transaction/transaction.h"
#include "supervise/os/file_clock.h"

namespace native_runner {

Result<CheckpointRecord> Transaction::Checkpoint(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (auto error = LookAt(trees.value())) return *error;
  CopyManifest* const copies = copy_ ? &copy_->manifest() : nullptr;
  return MakeCheckpoint(directory_.descriptor(), name, ledger_, copies);
}

Result<std::vector<CheckpointRecord>> Transaction::Checkpoints() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return WasClosed();
  return ListCheckpoints(directory_.descriptor());
}

std::optional<Error> Transaction::RollBack(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const int at = directory_.descriptor();
  if (NeedsRecovery(at)) return TornCommit();
  if (auto error = Unmount()) return error;
  workspace_.reset();  // of a copy too: another tree takes its place
  auto error = RollBackTo(at, directory_.kept_names(), id);
  if (!error) error = TakeKept();
  static_cast<void>(Mount());  // where that fails, `Freshen` says why
  return error;
}

// That of the checkpoint. All that the transaction has changed is in its ledger: what is new was
// changed from now on. A copy's says what the host had when it was made, before any checkpoint.
std::optional<Error> Transaction::TakeKept() {
  if (directory_.is_copy()) {
    auto copy = CopiedWorkspace::Load(directory_, ledger_);
    if (!copy) return copy.error();
    copy_.emplace(std::move(*copy));
    return std::nullopt;
  }
  ledger_ = directory_.LoadLedger();
  ledger_.looked_ns = std::max(opened_ns_, WaitForTick());
  return directory_.KeepLedger(ledger_);
}

}  // namespace native_runner
