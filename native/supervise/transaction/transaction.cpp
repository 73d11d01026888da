#include "supervise/transaction/transaction.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "supervise/changes/patch.h"
#include "supervise/changes/scan.h"
#include "supervise/transaction/entry.h"
#include "supervise/transaction/overlay_checks.h"

namespace native_runner {
namespace {

std::uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Files' times come of a clock that ticks every 1 to 10 ms. Gives a moment that no file of before
// has as its time or a later one, and returns when all that is changed from now on has.
std::uint64_t WaitForTick() {
  constexpr timespec kMoment = {0, 500'000};
  constexpr int kMost = 200;  // 100 ms: no kernel ticks as slowly
  const std::uint64_t now = Now(CLOCK_REALTIME);
  for (int left = kMost; left > 0 && Now(CLOCK_REALTIME_COARSE) <= now; --left)
    nanosleep(&kMoment, nullptr);
  return now;
}

}  // namespace

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
  return std::shared_ptr<Transaction>(
      new Transaction(std::move(*directory), std::move(*kept), WaitForTick()));
}

std::weak_ptr<const KeptWorkspace> Transaction::workspace() {
  const std::lock_guard lock(mutex_);
  return workspace_;
}

Result<Transaction::Trees> Transaction::OpenTrees() const {
  if (!workspace_) return Error{ErrorCode::kClosed, "the transaction was closed", ""};
  auto host = OpenWorkspace(workspace_->path);
  if (!host) return host.error();
  if (auto error = CheckUnmoved(*workspace_, host->directory.get())) return *error;
  auto upper = directory_.OpenUpper();
  if (!upper) return upper.error();
  return Trees{Tree(std::move(*upper), true), Tree(std::move(host->directory))};
}

Result<std::vector<Change>> Transaction::Scan(const Trees& trees, const PathFilter& paths) const {
  auto changes =
      ScanChanges(trees.upper, trees.lower, std::max(opened_ns_, workspace_->entered_ns.load()));
  if (!changes) return changes;
  std::erase_if(*changes, [&paths](const Change& change) { return !paths.Has(change.path); });
  return changes;
}

Result<std::vector<Change>> Transaction::Changes(const PathFilter& paths) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  return Scan(trees.value(), paths);
}

Result<std::string> Transaction::Diff(const PathFilter& paths, std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto changes = Scan(trees.value(), paths);
  if (!changes) return changes.error();
  return MakePatch(trees.value().upper, trees.value().lower, changes.value(), most);
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
