// The checkpoints of a transaction, and the way back to one.
#include <algorithm>
#include <utility>

#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/rollback.h"
#include "effects/transaction/transaction.h"
#include "supervise/os/file_clock.h"

namespace native_runner {
namespace {

// What was changed in a copy is told from the copy as a whole, of which there is no second.
Error OfCopy() {
  return Error{ErrorCode::kUnavailable, "a transaction that is a copy has no checkpoints",
               "open it with the backend \"overlay\""};
}

}  // namespace

Result<CheckpointRecord> Transaction::Checkpoint(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (copy_) return OfCopy();
  if (auto error = LookAt(trees.value())) return *error;
  return MakeCheckpoint(directory_.descriptor(), name, ledger_);
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
  if (copy_) return OfCopy();
  const int at = directory_.descriptor();
  if (NeedsRecovery(at)) return TornCommit();
  if (auto error = Unmount()) return error;
  auto error = RollBackTo(at, id);
  if (!error) error = TakeLedger();
  static_cast<void>(Mount());  // where that fails, `Freshen` says why
  return error;
}

// That of the checkpoint. All that the transaction has changed is in it: what is new was changed
// from now on.
std::optional<Error> Transaction::TakeLedger() {
  ledger_ = directory_.LoadLedger();
  ledger_.looked_ns = std::max(opened_ns_, WaitForTick());
  return directory_.KeepLedger(ledger_);
}

}  // namespace native_runner
