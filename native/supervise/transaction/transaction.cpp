#include "supervise/transaction/transaction.h"

#include <utility>

#include "supervise/transaction/overlay_checks.h"

namespace native_runner {

Result<std::shared_ptr<Transaction>> Transaction::Open(const Options& options) {
  auto workspace = OpenWorkspace(options.workspace);
  if (!workspace) return workspace.error();
  if (auto error = CheckOverlay(*workspace)) return *error;
  auto directory = TransactionDirectory::Make(options.directory, *workspace);
  if (!directory) return directory.error();
  auto kept = KeepWorkspace(options.launcher, *workspace, directory->overlay());
  if (!kept) {
    static_cast<void>(directory->Remove());
    return kept.error();
  }
  return std::shared_ptr<Transaction>(new Transaction(std::move(*directory), std::move(*kept)));
}

std::weak_ptr<const KeptWorkspace> Transaction::workspace() {
  const std::lock_guard lock(mutex_);
  return workspace_;
}

void Transaction::Close() {
  const std::lock_guard lock(mutex_);
  workspace_.reset();
  directory_.Release();
}

std::optional<Error> Transaction::Discard() {
  const std::lock_guard lock(mutex_);
  workspace_.reset();
  return directory_.Remove();
}

}  // namespace native_runner
