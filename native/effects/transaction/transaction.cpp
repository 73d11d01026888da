#include "effects/transaction/transaction.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <functional>
#include <set>
#include <utility>

#include "effects/changes/note_baselines.h"
#include "effects/changes/patch.h"
#include "effects/changes/scan.h"
#include "effects/changes/tell_renames.h"
#include "effects/commit/normalize_upper.h"
#include "effects/commit/taken_back.h"
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

Error WasClosed() {
  return Error{ErrorCode::kClosed, "the transaction was closed", ""};
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

Result<std::shared_ptr<Transaction>> Transaction::Resume(const Options& options,
                                                         const std::string& id) {
  auto workspace = OpenWorkspace(options.workspace);
  if (!workspace) return workspace.error();
  auto directory = TransactionDirectory::Open(options.directory, id);
  if (!directory) return directory.error();
  const TransactionRecord& record = directory->record();
  auto moved = CheckUnmoved(record.workspace, record.identity, workspace->directory.get());
  if (moved) return *moved;
  if (auto error = CheckOverlay(*workspace)) return *error;
  std::shared_ptr<Transaction> transaction(new Transaction(std::move(*directory), nullptr, 0));
  if (auto error = transaction->TakeUp(options.launcher, *workspace)) return *error;
  return transaction;
}

std::optional<Error> Transaction::TakeUp(const std::string& launcher, const Workspace& workspace) {
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  auto recovery = RecoverCommit(directory_.descriptor(), trees.value().lower.root(),
                                trees.value().upper.root());
  if (!recovery) return recovery.error();
  recovered_ = recovery->recovered;
  if (recovered_ != Recovered::kNothing) {
    CommitEnd end;
    if (recovered_ != Recovered::kCompleted) end.failed = TornCommit();
    end.touched = std::move(recovery->touched);
    if (auto error = Refresh(end, trees.value())) return error;
  }
  // The mount of a process that has just died may be about to go.
  constexpr timespec kMoment = {0, 10'000'000};
  constexpr int kMost = 100;
  auto kept = KeepWorkspace(launcher, workspace, directory_.overlay());
  for (int left = kMost; !kept && left > 0; --left) {
    nanosleep(&kMoment, nullptr);
    kept = KeepWorkspace(launcher, workspace, directory_.overlay());
  }
  if (!kept) return kept.error();
  workspace_ = std::move(*kept);
  entered_ = workspace_;
  // What no look has noted was changed after the last one.
  workspace_->entered_ns = ledger_.looked_ns;
  return std::nullopt;
}

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

Result<Transaction::Trees> Transaction::OpenTrees() const {
  if (is_closed_) return WasClosed();
  const TransactionRecord& record = directory_.record();
  auto host = OpenWorkspace(record.workspace);
  if (!host) return host.error();
  if (auto error = CheckUnmoved(record.workspace, record.identity, host->directory.get())) {
    return *error;
  }
  Descriptor readable(
      openat(host->directory.get(), ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  if (!readable.valid()) return SystemError("open of the workspace", errno);
  auto upper = directory_.OpenUpper();
  if (!upper) return upper.error();
  return Trees{ScannedTree(std::move(*upper), true), ScannedTree(std::move(readable))};
}

std::optional<Error> Transaction::LookAt(const Trees& trees) {
  if (!workspace_) return std::nullopt;  // nothing can change any more
  const std::uint64_t begun = FileClock();
  const std::uint64_t entered = workspace_->entered_ns.exchange(0);
  // Whoever enters shares the workspace before it says so.
  const auto is_busy = [this] { return workspace_.use_count() > 1; };
  const bool was_busy = is_busy();
  if (was_busy) workspace_->entered_ns = begun;  // it may change more from now on
  if (entered == 0 && !was_busy) return std::nullopt;
  std::set<std::string, std::less<>> seen;
  const std::size_t known = ledger_.baselines.size();
  const std::uint64_t since = std::max(opened_ns_, entered == 0 ? begun : entered);
  if (auto error = NoteBaselines(trees.upper, trees.lower, since, &ledger_, &seen)) {
    workspace_->entered_ns = entered == 0 ? begun : entered;
    return error;
  }
  bool is_other = ledger_.baselines.size() != known;
  // While something runs, a name that is not seen may be one that is on its way.
  if (!was_busy && !is_busy() && workspace_->entered_ns == 0) {
    is_other |= std::erase_if(ledger_.baselines, [&](const auto& each) {
                  return seen.find(each.first) == seen.end() &&
                         !IsHiddenFromAbove(trees.upper, each.first, seen);
                }) != 0;
  }
  ledger_.looked_ns = std::max(opened_ns_, begun);
  // On a disk that is full it can't be kept, and what was changed is to be told all the same; who
  // takes the transaction up then has the one before, and is told of more conflicts, never of less.
  is_kept_ = (is_kept_ && !is_other) || !directory_.KeepLedger(ledger_);
  return std::nullopt;
}

std::optional<Error> Transaction::Look() {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  return LookAt(trees.value());
}

OpenWorkspaceRoot Transaction::Files() const {
  return [weak = entered_]() -> FileResult<WorkspaceRoot> {
    auto kept = weak.lock();
    FileError error;
    error.kind = FileError::Kind::kSandbox;
    error.sandbox = WasClosed();
    if (!kept) return error;
    NoteEntry(*kept);
    auto root = DuplicateOf(kept->root.get());
    if (root) return WorkspaceRoot{Beneath::Of(std::move(*root)), std::move(kept)};
    error.sandbox = root.error();
    return error;
  };
}

Result<std::vector<Change>> Transaction::Scan(const Trees& trees, const PathFilter& paths) {
  if (auto error = LookAt(trees)) return *error;
  auto changes = ScanChanges(trees.upper, trees.lower, ledger_);
  if (!changes) return changes;
  std::erase_if(*changes, [&paths](const Change& change) { return !paths.Has(change.path); });
  TellRenames(trees.upper, trees.lower, &*changes);
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

std::optional<Error> Transaction::Unmount() {
  constexpr timespec kMoment = {0, 1'000'000};
  constexpr int kMost = 30'000;  // half a minute, of those who were told to end
  if (!workspace_) return std::nullopt;
  for (int left = kMost; workspace_.use_count() > 1; --left) {
    if (left == 0) return Error{ErrorCode::kSetup, "something still runs in the transaction", ""};
    nanosleep(&kMoment, nullptr);
  }
  workspace_.reset();
  return std::nullopt;
}

// What was committed has no baseline any more; what the upper directory still has is looked at
// anew.
std::optional<Error> Transaction::Refresh(const CommitEnd& end, const Trees& trees) {
  if (end.failed) {
    FollowTakenBack(trees.lower, end.touched, &ledger_);
    return directory_.KeepLedger(ledger_);
  }
  for (const Operation& operation : end.touched) {
    for (const SitePath* place : {&operation.from, &operation.to})
      if (place->site != Site::kAside) {
        ledger_.baselines.erase(place->path.empty() ? "." : place->path);
      }
  }
  const std::uint64_t since = WaitForTick();
  if (auto error = NoteBaselines(trees.upper, trees.lower, since, &ledger_)) return error;
  return directory_.KeepLedger(ledger_);
}

Result<Transaction::CommitResult> Transaction::Choose(const Trees& trees,
                                                      const CommitRequest& request) {
  if (auto error = LookAt(trees)) return *error;
  const auto all = ScanChanges(trees.upper, trees.lower, ledger_);
  if (!all) return all.error();
  ChosenChanges chosen = ChooseChanges(all.value(), request);
  CommitResult result;
  for (const Change& change : chosen.chosen)
    if (change.conflict) result.conflicts.push_back(change);
  result.refused = std::move(chosen.refused);
  result.left = std::move(chosen.left);
  result.committed = std::move(chosen.chosen);
  return result;
}

Result<Transaction::CommitResult> Transaction::Check(const CommitRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  return Choose(trees.value(), request);
}

Result<Transaction::CommitResult> Transaction::Commit(const CommitRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (auto error = LookAt(trees.value())) return *error;
  if (auto error = Unmount()) return *error;
  if (auto error = NormalizeUpper(trees.value().upper, trees.value().lower)) return *error;
  auto chosen = Choose(trees.value(), request);
  if (!chosen || !chosen->conflicts.empty() || !chosen->refused.empty()) return chosen;
  CommitResult result = std::move(*chosen);
  result.is_done = true;
  TellRenames(trees.value().upper, trees.value().lower, &result.left);
  if (result.committed.empty()) return result;
  std::vector<Change> told = result.committed;
  TellRenames(trees.value().upper, trees.value().lower, &told);
  const CommitEnd end = CommitChanges(directory_.descriptor(), trees.value().lower.root(),
                                      trees.value().upper.root(), result.committed, ledger_);
  static_cast<void>(Refresh(end, trees.value()));
  // A ledger that could not be kept tells of more conflicts later, never of less.
  if (!end.failed) {
    result.committed = std::move(told);
    return result;
  }
  if (end.conflicts.empty()) return *end.failed;
  const auto is_other = [&end](const Change& change) {
    return std::find(end.conflicts.begin(), end.conflicts.end(), change.path) ==
           end.conflicts.end();
  };
  result.is_done = false;
  result.conflicts = std::move(result.committed);
  std::erase_if(result.conflicts, is_other);
  result.committed.clear();
  result.left.clear();
  if (result.conflicts.empty()) return *end.failed;
  for (Change& change : result.conflicts)
    change.conflict = true;
  return result;
}

Result<std::vector<std::string>> Transaction::Undo() {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (auto error = Unmount()) return *error;
  CommitEnd end =
      UndoCommit(directory_.descriptor(), trees.value().lower.root(), trees.value().upper.root());
  static_cast<void>(Refresh(end, trees.value()));  // as for a commit
  if (!end.conflicts.empty()) return std::move(end.conflicts);
  if (end.failed) return std::move(*end.failed);
  return std::vector<std::string>();
}

void Transaction::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  workspace_.reset();
  directory_.Release();
}

std::optional<Error> Transaction::Discard() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  workspace_.reset();
  // What the host's files were may lie there and nowhere else.
  if (auto error = RecoverHost()) return error;
  return directory_.Remove();
}

std::optional<Error> Transaction::RecoverHost() {
  if (!NeedsRecovery(directory_.descriptor())) return std::nullopt;
  is_closed_ = false;
  const auto trees = OpenTrees();
  is_closed_ = true;
  if (!trees) return trees.error();
  const auto recovery = RecoverCommit(directory_.descriptor(), trees.value().lower.root(),
                                      trees.value().upper.root());
  if (!recovery) return recovery.error();
  return recovery.value().recovered == Recovered::kTorn ? std::optional(TornCommit())
                                                        : std::nullopt;
}

}  // namespace native_runner
