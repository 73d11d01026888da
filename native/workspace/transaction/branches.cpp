#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "supervise/os/file.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/same_file.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/merge.h"
#include "workspace/transaction/merge_base.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/helper_thread.h"

// Forks of a transaction, and what becomes of them: they are compared, taken over and merged.

namespace native_runner {
namespace {

constexpr const char* kOwnHome = "home";
constexpr const char* kOwnCaches = "caches";
constexpr const char* kOwnTexts = "texts";
constexpr int kOpenBranch = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Copies a directory of a transaction, where there is one, while commands may write in it.
std::optional<Error> CopyAlong(int from, int to, const std::string& name) {
  constexpr int kPlace = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor source(openat(from, name.c_str(), kPlace));
  if (!source.valid() && errno == ENOENT) return std::nullopt;
  if (!source.valid()) return SystemError("openat", errno);
  const auto made = MakeOwn(to, name);
  if (!made) return made.error();
  return TreeCopier(TreeCopier::Gone::kIsPassedOver)
      .Copy(ScannedTree(std::move(source), true), made.value().get());
}

// Of each cache what commands have written; what its overlay needs is made when it is mounted.
std::optional<Error> CopyCaches(int from, int to) {
  Descriptor source(openat(from, kOwnCaches, kOpenBranch));
  if (!source.valid() && errno == ENOENT) return std::nullopt;
  if (!source.valid()) return SystemError("openat", errno);
  const ScannedDirectory caches(std::move(source));
  const auto names = caches.Names();
  if (!names) return names.error();
  const auto made = MakeOwn(to, kOwnCaches);
  if (!made) return made.error();
  for (const std::string& name : names.value()) {
    const Descriptor cache(openat(caches.descriptor(), name.c_str(), kOpenBranch));
    const auto into = MakeOwn(made.value().get(), name);
    if (!into) return into.error();
    if (!cache.valid()) continue;
    if (auto error = CopyAlong(cache.get(), into.value().get(), "upper")) return error;
  }
  return std::nullopt;
}

// A mark of ReplaceChanges: which merge it is. Who reads it does not know what the other one has
// come from since.
constexpr std::string_view kMerge = "merge ";

std::string MarkOf(const MergeToSettle& merged) {
  return std::string(kMerge) + merged.other + " " + merged.base;
}

std::optional<MergeToSettle> MergeOfMark(std::string_view mark) {
  if (!mark.starts_with(kMerge)) return std::nullopt;
  mark.remove_prefix(kMerge.size());
  const std::size_t space = mark.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  MergeToSettle merged{std::string(mark.substr(0, space)), std::string(mark.substr(space + 1)),
                       false};
  if (!IsTransactionId(merged.other) || !IsTransactionId(merged.base)) return std::nullopt;
  return merged;
}

// ScanCopy, with what the host has by now too: that is no change, but another copy may not have it,
// and the host may change it again.
Result<std::vector<Change>> ScanWholeCopy(const ScannedTree& copy, const ScannedTree& host,
                                          const CopyManifest& manifest, const Ledger& ledger) {
  std::vector<Change> as_host;
  auto changes = ScanCopy(copy, host, manifest, ledger, &as_host);
  if (changes) std::move(as_host.begin(), as_host.end(), std::back_inserter(*changes));
  return changes;
}

// A copy has from now on what the other one had from the host: as if it had been changed at once.
void AddTaken(const std::vector<std::string>& paths, const Ledger& ledger, CopyManifest* manifest) {
  for (const std::string& path : paths) {
    const auto baseline = ledger.baselines.find(path);
    if (baseline == ledger.baselines.end()) continue;
    HostFile attributes;  // of no file that there is: inode 0
    if (baseline->second.host) {
      attributes.mode = baseline->second.host->mode;
      attributes.uid = baseline->second.host->uid;
      attributes.gid = baseline->second.host->gid;
    }
    manifest->copies.emplace(path, attributes);
  }
}

}  // namespace

Result<std::string> Transaction::Fork() {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const StopScope scope(&is_stopped_);
  if (auto error = LookAt(trees.value())) return *error;
  auto workspace = OpenWorkspace(directory_.record().workspace);
  if (!workspace) return workspace.error();
  auto fork = directory_.MakeFork(*workspace);
  if (!fork) return fork.error();
  auto error = FillFork(*fork, trees.value());
  if (!error && is_stopped_) error = WasClosed();
  if (!error) error = fork->Complete();
  if (error) {
    static_cast<void>(fork->Remove());
    return *error;
  }
  std::string id = fork->record().id;
  fork->Release();
  return id;
}

// What it has now, as a merge base.
Result<KeptPaths::About> Transaction::AboutNow(const PathFilter& paths) const {
  const std::uint64_t now = NowNs();
  auto origins = OriginIds(directory_.descriptor());
  if (!origins) return origins.error();
  return KeptPaths::About{now, directory_.record().workspace, paths, std::move(*origins)};
}

// All but the record, without which it is none.
std::optional<Error> Transaction::FillFork(TransactionDirectory& fork, const Trees& trees) {
  const auto place = fork.OpenUpper();
  if (!place) return place.error();
  const Descriptor to(openat(place.value().get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!to.valid()) return SystemError("openat", errno);
  Result<std::vector<Change>> changes = std::vector<Change>();
  std::set<std::string> others;
  auto own = DuplicateOf(to.get());
  if (!own) return own.error();
  const ScannedTree made(std::move(*own), true);
  if (copy_) {
    auto manifest = CopyOnceMore(trees.upper, ChangedBy::kRunning, to.get(), &copy_->manifest());
    if (HasShutFiles(copy_->manifest())) {
      // A manifest that can't be kept tells of more changes later, never of less.
      static_cast<void>(directory_.KeepManifest(copy_->manifest()));
    }
    if (!manifest) return manifest.error();
    WaitForTickOf(to.get());  // whatever a command changes has another ctime
    if (auto error = fork.KeepManifest(manifest.value())) return error;
    changes = ScanWholeCopy(made, trees.lower, manifest.value(), ledger_);
  } else {
    TreeCopier copier(TreeCopier::Gone::kIsPassedOver);
    if (auto error = copier.Copy(trees.upper, to.get())) return error;
    changes = ScanChanges(made, trees.lower, ledger_, nullptr, &others);
  }
  if (!changes) return changes.error();
  if (auto error = fork.KeepLedger(ledger_)) return error;
  const int from = directory_.descriptor();
  const int at = fork.descriptor();
  const auto about = AboutNow({});
  if (!about) return about.error();
  auto replaced = ReplacedSinceCopied();
  if (!replaced) return replaced.error();
  others.merge(*replaced);
  auto staged = StageBase(at, id(), about.value(), changes.value(), made, others);
  if (staged) return staged;
  const auto base = NewId();
  if (!base) return base.error();
  if (auto error = AddStagedBase(at, id(), base.value())) return error;
  TidyBases(from);
  if (auto error = ShareBases(from, at, true)) return error;
  if (auto error = ShareBases(at, from, true)) return error;
  if (auto error = CopyAlong(from, at, kOwnTexts)) return error;
  if (auto error = CopyAlong(from, at, kOwnHome)) return error;
  if (auto error = CopyCaches(from, fork.descriptor())) return error;
  return CopyCheckpoints(from, fork.descriptor(), directory_.kept_names(),
                         directory_.file_systems());
}

std::optional<Error> Transaction::CheckOther(const Transaction& other) const {
  if (&other == this) {
    return Error{ErrorCode::kInvalidValue, "Expected another transaction, got the same one", ""};
  }
  const std::string& own = directory_.record().workspace;
  const std::string& others = other.directory_.record().workspace;
  if (own == others) return std::nullopt;
  return Error{ErrorCode::kInvalidValue,
               "Expected a transaction of the workspace " + own + ", got one of " + others, ""};
}

// What commands see, for as long as the mount is shared.
Result<MergeSide> Transaction::Seen() {
  if (!workspace_) {
    if (auto error = Mount()) return *error;
  }
  NoteEntry(*workspace_);
  auto root = DuplicateOf(workspace_->root.get());
  if (!root) return root.error();
  const Mounts mounts = copy_ ? Mounts::kEnter : Mounts::kStay;
  return MergeSide{
      id(), {}, workspace_, ScannedTree(std::move(*root), false, mounts), copy_.has_value()};
}

Result<MergeSide> Transaction::SideOf(const Trees& trees) {
  const StopScope scope(&is_stopped_);
  std::set<std::string> own;
  if (auto error = LookAt(trees)) return *error;
  auto changes = copy_ ? ScanWholeCopy(trees.upper, trees.lower, copy_->manifest(), ledger_)
                       : ScanChanges(trees.upper, trees.lower, ledger_, &differences_, &own);
  if (!changes) return changes.error();
  auto side = Seen();
  if (!side) return side;
  side->changes = std::move(*changes);
  side->as_host = std::move(own);
  return side;
}

Result<Transaction::Both> Transaction::LookAtBoth(Transaction& other) {
  auto trees = OpenTrees();
  if (!trees) return trees.error();
  auto ours = SideOf(trees.value());
  if (!ours) return ours.error();
  const auto their_trees = other.OpenTrees();
  if (!their_trees) return their_trees.error();
  auto theirs = other.SideOf(their_trees.value());
  if (!theirs) return theirs.error();
  return Both{std::move(trees->lower), std::move(*ours), std::move(*theirs)};
}

Result<std::vector<Change>> Transaction::CompareSides(const MergeSide& own, const MergeSide& others,
                                                      const PathFilter& paths) {
  std::set<std::string> all;
  for (const auto* side : {&own, &others})
    for (const Change& change : side->changes)
      all.insert(change.path);
  std::vector<Change> changes;
  SpotView own_at(own.tree);
  SpotView others_at(others.tree);
  for (const std::string& path : all) {
    if (is_stopped_) return WasClosed();
    if (!paths.Has(path)) continue;
    const auto now = own_at.At(path);
    if (!now) return now.error();
    const auto before = others_at.At(path);
    if (!before) return before.error();
    const TwoNodes nodes = {now.value().node, before.value().node};
    if (!nodes.now && !nodes.before) continue;
    const std::string name(SplitPath(InTree(path)).name);
    const bool is_same = nodes.now && nodes.before &&
                         AreSame(nodes, name, *now.value().directory, *before.value().directory);
    if (is_same) continue;
    Change change = ChangeOf(path, nodes);
    if (nodes.now && nodes.now->is_link()) {
      const auto target = now.value().directory->Target(name);
      if (target) change.target = target.value();
    }
    changes.push_back(std::move(change));
  }
  PairRenames(own.tree, others.tree, &changes);
  return changes;
}

Result<std::vector<Change>> Transaction::ChangesSince(Transaction& other, const PathFilter& paths) {
  if (auto error = CheckOther(other)) return *error;
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto both = LookAtBoth(other);
  if (!both) return both.error();
  const StopScope scope(&is_stopped_);
  return CompareSides(both.value().ours, both.value().theirs, paths);
}

Result<std::string> Transaction::DiffSince(Transaction& other, const PathFilter& paths,
                                           std::uint64_t most) {
  if (auto error = CheckOther(other)) return *error;
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto both = LookAtBoth(other);
  if (!both) return both.error();
  const StopScope scope(&is_stopped_);
  const auto changes = CompareSides(both.value().ours, both.value().theirs, paths);
  if (!changes) return changes.error();
  return MakePatch(both.value().ours.tree, both.value().theirs.tree, changes.value(), most);
}

Result<MergeBase> Transaction::BaseWith(const Transaction& other) const {
  return MergeBase::Of(directory_.descriptor(), other.directory_.descriptor(),
                       directory_.state_descriptor(), directory_.record().workspace);
}

Result<MergePlan> Transaction::PlanMerge(Transaction& other, const PathFilter& paths,
                                         bool takes_all) {
  if (auto error = CheckOther(other)) return *error;
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto both = LookAtBoth(other);
  if (!both) return both.error();
  const auto base = BaseWith(other);
  if (!base) return base.error();
  const auto& [host, ours, theirs] = both.value();
  // First: what they change from now on, planned or not, is a change for the next merge.
  const auto about = other.AboutNow(paths);
  if (!about) return about.error();
  auto others = other.ReplacedSinceCopied();
  if (!others) return others.error();
  others->insert(theirs.as_host.begin(), theirs.as_host.end());
  auto error = StageBase(directory_.descriptor(), other.id(), about.value(), theirs.changes,
                         theirs.tree, others.value());
  if (error) return *error;
  const StopScope scope(&is_stopped_);
  return PlanMergeOf(ours, theirs, base.value(), host, paths, takes_all);
}

// What the other one knows of the host's files at paths that are ours now too: a change of the
// host's since it has looked is a conflict here as it is there.
void Transaction::TakeBaselines(const Ledger& others, const ScannedTree& host,
                                const std::vector<std::string>& paths, Ledger* ledger) const {
  for (const std::string& path : paths) {
    const auto theirs = others.baselines.find(path);
    const auto own = ledger->baselines.find(path);
    const bool is_own = !copy_ || copy_->manifest().copies.contains(path);
    if (own != ledger->baselines.end() && is_own) {
      const bool is_other =
          theirs != others.baselines.end() && theirs->second.host != own->second.host;
      own->second.is_suspect |=
          is_other || (theirs != others.baselines.end() && theirs->second.is_suspect);
    } else if (theirs != others.baselines.end()) {
      ledger->baselines.insert_or_assign(path, theirs->second);
    } else if (!copy_) {
      const auto spot = SpotOf(host, path);
      if (!spot || !spot.value().node) continue;
      Baseline baseline{SinceAbove(others, path), false, *spot.value().node, {}};
      baseline.is_suspect = spot.value().node->changed_ns >= baseline.since_ns;
      ledger->baselines.insert_or_assign(path, std::move(baseline));
    }
  }
}

std::optional<Error> Transaction::Merge(Transaction& other, const MergeRequest& request) {
  if (auto error = CheckOther(other)) return error;
  const std::lock_guard sweep(sweep_mutex_);
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const int at = directory_.descriptor();
  if (NeedsRecovery(at)) return TornCommit();
  if (auto error = LookAt(trees.value())) return error;
  const auto their_trees = other.OpenTrees();
  if (!their_trees) return their_trees.error();
  if (auto error = other.LookAt(their_trees.value())) return error;
  const auto theirs = other.Seen();
  if (!theirs) return theirs.error();
  std::vector<std::string> paths = request.removed;
  for (const auto& each : request.theirs)
    paths.push_back(each.path);
  for (const auto& each : request.files)
    paths.push_back(each.path);
  const auto base = NewId();
  if (!base) return base.error();
  const MergeToSettle merged{other.id(), base.value(), request.paths.paths().empty()};
  if (paths.empty()) return Settle(merged, other.directory_.descriptor());
  Ledger ledger = ledger_;
  TakeBaselines(other.ledger_, trees.value().lower, paths, &ledger);
  if (copy_) {
    // Before the files: a death in between leaves conflicts, never a change that hides one. Until
    // the manifest has a path too, which comes with the files, its baseline is none.
    if (auto error = directory_.KeepLedger(ledger)) return error;
    ledger_ = ledger;
  }
  if (auto error = Unmount()) return error;
  workspace_.reset();  // also a copy, whose tree is replaced
  PathSet rewritten;
  for (const auto& each : request.files)
    if (each.contents) rewritten.insert(each.path);
  const auto fill = [&](int next) -> Result<std::string> {
    const ScannedTree& from = trees.value().upper;
    if (copy_) {
      auto manifest = CopyOnceMore(from, ChangedBy::kCommands, next, &copy_->manifest(), rewritten);
      if (!manifest) return manifest.error();
      AddTaken(paths, ledger, &*manifest);
      if (auto error = ApplyMerge(request, theirs.value().tree, next)) return *error;
      return WithFileSystems(directory_.file_systems(), EncodeManifest(manifest.value()));
    }
    if (auto error = TreeCopier().Copy(from, next, rewritten)) return *error;
    const auto work = MakeOwn(at, NextWork());
    if (!work) return work.error();
    auto workspace = OpenWorkspace(directory_.record().workspace);
    if (!workspace) return workspace.error();
    const std::string& path = directory_.path();
    const auto mounted =
        MountOverlay(fresh_->launcher(), *workspace,
                     {path, path + "/" + NextTree(kOverlayNames), path + "/" + NextWork()}, {});
    if (!mounted) return mounted.error();
    auto error = ApplyMerge(request, theirs.value().tree, mounted.value()->root.get());
    if (error) return *error;
    return WithFileSystems(directory_.file_systems(), EncodeLedger(ledger));
  };
  auto error = ReplaceChanges(at, directory_.kept_names(), MarkOf(merged), fill);
  LeaveToSweep();
  if (!error) error = TakeMounted();
  static_cast<void>(Mount());  // where that fails, `Freshen` says why
  if (error) return error;
  // What can't be kept makes more conflicts at the next merge, never fewer.
  static_cast<void>(Settle(merged, other.directory_.descriptor()));
  Settled(at);
  return std::nullopt;
}

// Before a commit, or an undo: what it replaces on the host is the base of merges with those that
// have come from the same states.
std::optional<Error> Transaction::KeepReplacedBy(Journal::Kind kind,
                                                 const std::vector<std::string>& paths,
                                                 const ScannedTree& host) const {
  TidyReplacedOf(false);
  if (!TidyBases(directory_.descriptor())) return std::nullopt;
  return KeepReplaced(directory_.state_descriptor(), directory_.record().workspace, paths, host,
                      kind == Journal::Kind::kUndo ? id() : "");
}

// A copy has the host's files of when it was made where it has not changed them.
Result<std::set<std::string>> Transaction::ReplacedSinceCopied() const {
  if (!copy_) return std::set<std::string>();
  return ReplacedPaths(directory_.state_descriptor(), directory_.record().workspace);
}

void Transaction::TidyReplacedOf(bool without_own) const {
  const int state = directory_.state_descriptor();
  if (!HasReplaced(state)) return;
  TidyReplaced(state, directory_.record().workspace, directory_.OldestOfSeveral(without_own));
}

// Both have come from what the other one had when the merge was planned, and this one from all that
// it has come from. `from`: the other one's directory.
std::optional<Error> Transaction::Settle(const MergeToSettle& merged, int from) const {
  const int at = directory_.descriptor();
  if (auto error = AddStagedBase(at, merged.other, merged.base)) return error;
  // A merge of some paths tells nothing of what the other one came from elsewhere.
  if (merged.is_whole) {
    if (auto error = ShareBases(from, at, false)) return error;
  }
  auto error = ShareBases(at, from, false, merged.base);
  if (!error) TidyBases(at);  // not before: it would count as one that nobody else has
  return error;
}

// Notes what a process that has died has done, and had not noted.
void Transaction::SettleLeft() {
  const int at = directory_.descriptor();
  const auto done = ToBeSettled(at);
  if (!done) return;
  if (!done.value()) return RestoreDroppedBases(at);
  const auto merged = MergeOfMark(*done.value());
  if (merged) {
    const Descriptor other = directory_.OpenOther(merged->other);
    if (other.valid()) static_cast<void>(Settle(*merged, other.get()));
  } else if (IsBaseStaged(at, id())) {
    const auto checkpoint = FindCheckpoint(*done.value());
    if (checkpoint && checkpoint.value()) {
      static_cast<void>(AddStagedBase(at, id(), *checkpoint.value()));
    }
  } else if (HasDroppedBases(at)) {
    static_cast<void>(KeepAsBase(*done.value()));
  }
  Settled(at);
}

}  // namespace native_runner
