#include "workspace/transaction/transaction.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "supervise/os/file.h"
#include "supervise/transaction/entry.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/same_file.h"
#include "workspace/changes/scan.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/commit_directory.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/git_paths.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr const char* kUnmounted = "unmounted";
constexpr std::chrono::milliseconds kPatience{500};

// Reads what is in a queue; true once the watched file system is gone.
bool HasUnmountEvent(int queue) {
  alignas(inotify_event) std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = read(queue, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
      inotify_event event{};
      std::memcpy(&event, block.data() + at, sizeof(event));
      if ((event.mask & IN_UNMOUNT) != 0) return true;
      at += sizeof(event) + event.len;
    }
  }
}

bool WaitForUnmount(int queue, std::chrono::steady_clock::time_point until) {
  for (;;) {
    if (HasUnmountEvent(queue)) return true;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{queue, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
  }
}

}  // namespace

void EarlierOverlays::Resume(int transaction) {
  // An unlink makes sure that the file is there only as long as it is true.
  is_unknown_ = is_unknown_ || unlinkat(transaction, kUnmounted, 0) != 0;
}

void EarlierOverlays::Add(int root) {
  Descriptor queue(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  // IN_UNMOUNT comes with any mask; a directory that is mounted can't be deleted.
  const bool is_watched =
      queue.valid() && inotify_add_watch(queue.get(), DescriptorPath(root).c_str(),
                                         IN_DELETE_SELF | IN_ONLYDIR) >= 0;
  if (is_watched) {
    queues_.push_back(std::move(queue));
  } else {
    is_unknown_ = true;
  }
}

bool EarlierOverlays::AreGone() {
  if (is_unknown_) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::erase_if(queues_,
                [until](const Descriptor& queue) { return WaitForUnmount(queue.get(), until); });
  return queues_.empty();
}

void EarlierOverlays::Close(int transaction) {
  if (AreGone()) {
    const Descriptor made(
        openat(transaction, kUnmounted, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  queues_.clear();
}

namespace {

std::vector<std::string> PathsOf(const std::vector<Change>& changes) {
  std::vector<std::string> paths;
  paths.reserve(changes.size());
  for (const Change& change : changes)
    paths.push_back(change.path);
  return paths;
}

}  // namespace

Error Transaction::WasClosed() {
  return Error{ErrorCode::kClosed, "the transaction was closed", ""};
}

Result<Transaction::Trees> Transaction::OpenTrees() const {
  if (is_closed_) return WasClosed();
  if (NeedsRollback(directory_.descriptor())) {
    return Error{ErrorCode::kSetup, "a rollback has still to be completed",
                 "close the transaction, and open it again"};
  }
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
  // A copy has the files of mounts in the workspace.
  const Mounts mounts = copy_ ? Mounts::kEnter : Mounts::kStay;
  return Trees{ScannedTree(std::move(*upper), true),
               ScannedTree(std::move(readable), false, mounts)};
}

std::optional<Error> Transaction::LookAt(const Trees& trees) {
  if (copy_ || !workspace_) return std::nullopt;  // known, or nothing can change any more
  const std::uint64_t begun = FileClock();
  const std::uint64_t entered = workspace_->entered_ns.exchange(0);
  // A run shares the workspace before it notes its entry.
  const auto is_busy = [this] { return workspace_.use_count() > 1; };
  const bool was_busy = is_busy();
  // It may make more changes from now on, based on what it sees now.
  if (was_busy) workspace_->entered_ns = fresh_->FreshUntil(begun);
  if (entered == 0 && !was_busy) return std::nullopt;
  std::set<std::string, std::less<>> seen;
  const std::size_t known = ledger_.baselines.size();
  const std::uint64_t since = std::max(opened_ns_, entered == 0 ? begun : entered);
  const auto is_whole =
      NoteBaselines(trees.upper, trees.lower, since, &ledger_, &seen, fresh_->pinned());
  const bool is_done = is_whole && is_whole.value();
  if (!is_done) workspace_->entered_ns = entered == 0 ? begun : entered;  // for the next look
  if (!is_whole) return is_whole.error();
  bool is_other = ledger_.baselines.size() != known;
  if (is_other) KeepNewTexts(trees, since);
  // While something runs, a missing name may be in the middle of a rename.
  if (is_done && !was_busy && !is_busy() && workspace_->entered_ns == 0) {
    is_other |= std::erase_if(ledger_.baselines, [&](const auto& each) {
                  return seen.find(each.first) == seen.end() &&
                         !IsHiddenFromAbove(trees.upper, each.first, seen);
                }) != 0;
  }
  if (is_done) ledger_.looked_ns = std::max(opened_ns_, begun);
  // On a full disk it can't be kept, and changes are reported nevertheless. After a resume the
  // earlier ledger reports more conflicts, never fewer.
  is_kept_ = (is_kept_ && !is_other) || !directory_.KeepLedger(ledger_);
  return std::nullopt;
}

std::optional<Error> Transaction::Look() {
  std::unique_lock lock(mutex_);
  TRY_ASSIGN(auto trees, OpenTrees());
  // The next command may run already: it sees no mode but its own.
  TRY_ASSIGN(auto open, trees.upper.WhereOpen());
  trees.upper = std::move(open);
  auto error = LookAt(trees);
  lock.unlock();
  if (!error && !copy_) fresh_->Watch(trees.lower);
  return error;
}

OpenWorkspaceRoot Transaction::Files() const {
  return [current = workspace()]() -> FileResult<WorkspaceRoot> {
    auto kept = current->Enter();
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

Result<std::vector<Change>> Transaction::ScanAll(const Trees& trees) {
  if (auto error = LookAt(trees)) return *error;
  if (copy_) return ScanCopy(trees.upper, trees.lower, copy_->manifest(), ledger_);
  return ScanChanges(trees.upper, trees.lower, ledger_, &differences_);
}

Result<std::vector<Change>> Transaction::Scan(const Trees& trees, const PathFilter& paths) {
  const StopScope scope(&is_stopped_);
  auto changes = ScanAll(trees);
  if (!changes) return changes;
  std::erase_if(*changes, [&paths](const Change& change) { return !paths.Has(change.path); });
  PairRenames(trees.upper, trees.lower, &*changes);
  if (is_stopped_) return WasClosed();
  return changes;
}

Result<std::vector<Change>> Transaction::Changes(const PathFilter& paths, bool has_versions) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const std::uint64_t begun = FileClock();
  auto changes = Scan(trees.value(), paths);
  if (!changes || !has_versions) return changes;
  const bool may_be_open = copy_ || workspace_.use_count() > 1 || earlier_.MayHaveSome();
  const StopScope scope(&is_stopped_);
  AddDigests(trees.value().upper, begun, may_be_open, &*changes);
  if (is_stopped_) return WasClosed();
  return changes;
}

Result<std::string> Transaction::Diff(const PathFilter& paths, std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto changes = Scan(trees.value(), paths);
  if (!changes) return changes.error();
  const StopScope scope(&is_stopped_);
  return MakePatch(trees.value().upper, trees.value().lower, changes.value(), most);
}

// Removes the baselines of committed paths, and looks anew at what the upper directory still has.
std::optional<Error> Transaction::Refresh(const CommitEnd& end, const Trees& trees) {
  if (copy_ && !end.failed) {
    return copy_->Follow(end, trees.upper, trees.lower, directory_, &ledger_);
  }
  if (end.failed) {
    FollowTakenBack(trees.lower, end.touched, &ledger_);
    return directory_.KeepLedger(ledger_);
  }
  for (const Operation& operation : end.touched) {
    for (const SitePath* place : {&operation.from, &operation.to})
      if (place->site == Site::kHost || place->site == Site::kUpper) {
        ledger_.baselines.erase(place->path.empty() ? "." : place->path);
      }
  }
  for (const Operation& operation : end.touched) {
    const bool has_gone = operation.kind == Operation::Kind::kMove &&
                          operation.from.site == Site::kHost && operation.from_file.is_directory();
    if (!has_gone) continue;
    if (auto error = ForgetOrigin(trees.upper, operation.from.path)) return error;
  }
  const std::uint64_t since = WaitForTickOf(trees.lower.root(), end.changed_ns);
  std::set<std::string, std::less<>> seen;
  TRY(NoteBaselines(trees.upper, trees.lower, since, &ledger_, &seen));
  KeepNewTexts(trees, since);
  if (end.kind == Journal::Kind::kUndo) {
    SuspectOthers(end.touched, &ledger_);
    NoteRestored(trees.upper, trees.lower, end.touched, since, seen, &ledger_);
  }
  FollowDirectories(trees.lower, end.touched, &ledger_);
  if (end.kind == Journal::Kind::kCommit) {
    RestartDirectories(trees.upper, end.touched, since, &ledger_);
  }
  // Nothing runs: later changes can be distinguished from those of the commit itself.
  ledger_.looked_ns = since;
  return directory_.KeepLedger(ledger_);
}

Result<Transaction::CommitResult> Transaction::Choose(const Trees& trees,
                                                      const CommitRequest& request) {
  const StopScope scope(&is_stopped_);
  auto all = ScanAll(trees);
  if (!all) return all.error();
  if (request.expected) AddSeenDigests(trees.upper, *request.expected, &*all);
  if (is_stopped_) return WasClosed();
  ChosenChanges chosen = ChooseChanges(all.value(), request);
  CommitResult result;
  for (const Change& change : chosen.chosen)
    if (change.conflict) result.conflicts.push_back(change);
  const std::string& workspace = directory_.record().workspace;
  const auto git = FindGitPaths(
      {workspace, GitNamesOf(request.protected_names), request.homes, &trees.upper, &trees.lower},
      chosen.chosen);
  if (!git) return git.error();
  result.refused = RefusedOf(chosen.chosen, request, workspace, git.value());
  result.unexpected = std::move(chosen.unexpected);
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

Result<Transaction::CommitResult> Transaction::Commit(
    const CommitRequest& request, const std::vector<MergeRequest::File>& merged) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (auto error = WaitForEnds()) return *error;
  auto result = merged.empty() ? CommitEnded(trees.value(), request)
                               : CommitMerged(trees.value(), request, merged);
  static_cast<void>(TidyCheckpoints(directory_.descriptor()));  // else the next checkpoint does it
  if (result && result->is_done) TidyMerges();
  static_cast<void>(Mount());  // on failure, `Freshen` returns the error
  return result;
}

// Makes the digests of the changes while the kernel writes the overlay's files to disk.
std::optional<Error> Transaction::Prepare(const Trees& trees, const std::vector<Change>& changes,
                                          std::vector<std::string>* digests) {
  const auto open = trees.upper.WhereOpen();
  auto digesting = HelperThread::Start([&] {
    if (open) MakeDigests(open.value(), changes, digests);
  });
  auto error = Unmount();
  digesting.reset();
  if (error) return error;
  MakeDigests(trees.upper, changes, digests);  // the rest, as where a directory keeps its owner out
  return copy_ ? std::nullopt : NormalizeUpper(trees.upper, trees.lower, &ledger_);
}

// Notes baselines, on disk too, of the files that an opaque directory hides, before whiteouts hide
// them one by one.
std::optional<Error> Transaction::KeepHidden(const Trees& trees, const CommitResult& chosen) {
  if (copy_) return std::nullopt;
  bool has_noted = false;
  for (const auto* changes : {&chosen.committed, &chosen.left}) {
    const auto noted = NoteHidden(trees.upper, trees.lower, *changes, &ledger_);
    if (!noted) return noted.error();
    has_noted |= noted.value();
  }
  return has_noted ? directory_.KeepLedger(ledger_) : std::nullopt;
}

Result<Transaction::CommitResult> Transaction::CommitEnded(const Trees& trees,
                                                           const CommitRequest& request) {
  auto chosen = Choose(trees, request);
  if (!chosen || !chosen->CanBeDone()) return chosen;
  CommitResult result = std::move(*chosen);
  const auto parts = TakeParts(trees.upper, result.committed, request.contents);
  if (!parts) return parts.error();
  result.is_done = true;
  if (!result.committed.empty()) {
    if (auto error = KeepHidden(trees, result)) return *error;
  }
  PairRenames(trees.upper, trees.lower, &result.left);
  if (result.committed.empty()) return result;
  std::vector<Change> told = WithoutParts(result.committed, parts.value());
  PairRenames(trees.upper, trees.lower, &told);
  DescribeParts(result.committed, parts.value(), &told, &result.digests);
  if (auto error = KeepReplacedBy(Journal::Kind::kCommit, PathsOf(result.committed), trees.lower)) {
    return *error;
  }
  if (auto error = Prepare(trees, told, &result.digests)) return *error;
  KeepBeforeCommit(trees, result.committed);
  const CommitEnd end = CommitChanges(
      directory_.descriptor(), trees.lower.root(), trees.upper.root(), result.committed, ledger_,
      copy_ ? &copy_->manifest() : nullptr, parts.value(), !copy_ && !earlier_.AreGone());
  if (!copy_ && !end.failed) FollowLeft(trees.lower, end.touched, result.left, &ledger_);
  const auto unkept = Refresh(end, trees);
  // An overlay's ledger that could not be kept reports more conflicts later, never fewer. A copy's
  // would not tell of what is removed later: the commit stays pending, for the next open to note.
  if (!end.failed && (!unkept || !copy_)) ForgetPlan(directory_.descriptor());
  if (!end.failed) {
    LeaveParts(result.committed, parts.value(), &result.left);
    result.committed = std::move(told);
    return result;
  }
  if (end.conflicts.empty() || end.is_torn) return *end.failed;
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
  if (auto error = KeepBeforeUndo(trees.value())) return *error;
  if (auto error = Unmount()) return *error;
  CommitEnd end =
      UndoCommit(directory_.descriptor(), trees.value().lower.root(), trees.value().upper.root());
  static_cast<void>(Refresh(end, trees.value()));  // as for a commit
  if (!end.failed) ForgetUndone(directory_.descriptor());
  static_cast<void>(TidyCheckpoints(directory_.descriptor()));
  static_cast<void>(Mount());
  if (!end.conflicts.empty() && !end.is_torn) return std::move(end.conflicts);
  if (end.failed) return std::move(*end.failed);
  return std::vector<std::string>();
}

// Leaves the files that were just replaced to `Sweep`.
void Transaction::LeaveToSweep() {
  auto own = DuplicateOf(directory_.descriptor());
  if (own) replaced_ = std::move(*own);
}

void Transaction::Sweep() {
  const std::lock_guard sweep(sweep_mutex_);
  const StopScope scope(&is_stopped_);
  const Descriptor directory = std::move(replaced_);
  if (directory.valid()) RemoveReplaced(directory.get(), directory_.kept_names());
}

void Transaction::Close() {
  Stop();
  const std::lock_guard sweep(sweep_mutex_);
  replaced_.Close();
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  fresh_->current()->Set(nullptr);
  fresh_->End();
  const bool has_overlay = workspace_ && !copy_;
  LeaveOverlay();
  if (has_overlay) earlier_.Close(directory_.descriptor());
  earlier_ = EarlierOverlays();
  DropStagedBases(directory_.descriptor());
  directory_.Release();
}

std::optional<Error> Transaction::Discard() {
  Stop();
  const std::lock_guard sweep(sweep_mutex_);
  replaced_.Close();
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  fresh_->current()->Set(nullptr);
  fresh_->End();
  workspace_.reset();
  earlier_ = EarlierOverlays();
  const auto is_there = directory_.Reopen();
  if (!is_there) return is_there.error();
  if (!is_there.value()) return std::nullopt;
  // The only copy of the host's files may be there.
  if (auto error = RecoverHost()) return error;
  if (auto error = CommitDirectory::Remove(directory_.descriptor())) return error;
  TidyReplacedOf(true);
  if (directory_.is_copy()) {
    TidyReplacedTexts(directory_.state_descriptor(), directory_.record().workspace,
                      directory_.OldestOtherCopy());
  }
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

// Checkpoints and rollback.

Result<CheckpointRecord> Transaction::Checkpoint(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  if (auto error = LookAt(trees.value())) return *error;
  const StopScope scope(&is_stopped_);
  CopyManifest* const copies = copy_ ? &copy_->manifest() : nullptr;
  return MakeCheckpoint(directory_.descriptor(), name, ledger_, copies, directory_.file_systems());
}

Result<std::vector<CheckpointRecord>> Transaction::Checkpoints() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return WasClosed();
  return ListCheckpoints(directory_.descriptor());
}

std::optional<Error> Transaction::RollBack(const std::string& id) {
  const std::lock_guard sweep(sweep_mutex_);
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const int at = directory_.descriptor();
  if (NeedsRecovery(at)) return TornCommit();
  if (auto error = Unmount()) return error;
  workspace_.reset();  // also a copy, whose tree is replaced
  // Before the files: what was merged since is to be merged again.
  const auto is_base = ForgetMergesSince(id);
  if (!is_base) {
    static_cast<void>(Mount());
    return is_base.error();
  }
  auto error = RollBackTo(at, directory_.kept_names(), id, directory_.file_systems());
  LeaveToSweep();
  if (error && !NeedsRollback(at)) RestoreDroppedBases(at);
  if (!error) error = TakeMounted();
  static_cast<void>(Mount());  // where that fails, `Freshen` says why
  // It has gone back, also where this fails.
  if (!error && is_base.value()) static_cast<void>(KeepAsBase(id));
  if (!error) Settled(at);
  return error;
}

// True: others have come from the checkpoint.
Result<bool> Transaction::ForgetMergesSince(const std::string& checkpoint) const {
  const auto record = FindCheckpoint(checkpoint);
  if (!record) return record.error();
  if (!record.value()) return false;
  return DropBasesSince(directory_.descriptor(), *record.value());
}

Result<std::optional<CheckpointRecord>> Transaction::FindCheckpoint(const std::string& id) const {
  auto records = ListCheckpoints(directory_.descriptor());
  if (!records) return records.error();
  for (CheckpointRecord& record : records.value())
    if (record.id == id) return std::optional(std::move(record));
  return std::optional<CheckpointRecord>();
}

// What was forked or merged from here since the checkpoint has come from that, too. Without it such
// a one would have nothing in common with this transaction, or something older: what it had removed
// would come back.
std::optional<Error> Transaction::KeepAsBase(const std::string& checkpoint) {
  const auto record = FindCheckpoint(checkpoint);
  if (!record) return record.error();
  if (!record.value()) return std::nullopt;
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto side = SideOf(trees.value());
  if (!side) return side.error();
  auto others = ReplacedSinceCopied();
  if (!others) return others.error();
  others->insert(side.value().as_host.begin(), side.value().as_host.end());
  auto about = AboutNow({});
  if (!about) return about.error();
  about->created_ns = record.value()->created_ns;
  auto error = StageBase(directory_.descriptor(), id(), *about, side.value().changes,
                         side.value().tree, others.value());
  if (error) return error;
  return AddStagedBase(directory_.descriptor(), id(), *record.value());
}

// Takes the ledger of the checkpoint, which has all changes: others are made from now on. The
// ledger of a copy has the host's files as they were when the copy was made, before any checkpoint.
std::optional<Error> Transaction::TakeMounted() {
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
