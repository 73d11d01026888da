#include "workspace/commit/commit.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "policy/transaction/file_systems.h"
#include "supervise/os/file.h"
#include "workspace/changes/same_file.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/perform.h"
#include "workspace/commit/plan.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

// True if the backup of an operation is unchanged since the commit was done.
Result<bool> IsKept(const Sites& sites, const Operation& operation) {
  const bool is_exchange = operation.kind == Operation::Kind::kExchange;
  const SitePath& place = is_exchange ? operation.from : operation.to;
  const HostFile& file = is_exchange ? operation.to_file : operation.from_file;
  const auto now = sites.Look(place);
  if (!now) return now.error();
  if (!now.value()) return false;
  return file.is_directory() ? now.value()->IsSameInode(file)
                             : static_cast<const HostFile&>(*now.value()) == file;
}

// Returns the paths at which the host's file of the plan differs from the one before the
// transaction (the ledger).
std::vector<std::string> ChangedByHost(const Sites& sites, const std::vector<Operation>& operations,
                                       const Ledger& ledger) {
  SitesView view(sites);
  std::vector<std::string> changed;
  // A file that the plan itself makes, or gives another mode, is not compared.
  std::set<std::string_view> made;
  std::set<std::string_view> set;
  for (const Operation& operation : operations) {
    const bool is_exchange = operation.kind == Operation::Kind::kExchange;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.to.site == Site::kHost) made.insert(operation.to.path);
    const SitePath& place = is_exchange ? operation.to : operation.from;
    if (place.site != Site::kHost || made.count(place.path) != 0) continue;
    const bool is_attributes = operation.kind == Operation::Kind::kAttributes;
    if (is_attributes && !set.insert(place.path).second) continue;
    const HostFile& file = is_exchange ? operation.to_file : operation.from_file;
    const auto known = ledger.baselines.find(Shown(place));
    bool is_other = false;
    if (known != ledger.baselines.end()) {
      is_other = HostHasChanged(known->second, file, is_move);
    } else if (!is_attributes) {
      is_other = MayBeSince(file.changed_ns, SinceAbove(ledger, place.path));
    }
    is_other = is_other || !HasContents(&view, place, operation.contents);
    if (is_other) changed.push_back(Shown(place));
  }
  return changed;
}

// Returns the paths at which the host's file has changed since a commit, or at which its backup
// has, if commands can reach the backups. `done`: the journal of that commit.
Result<std::vector<std::string>> ChangedSince(const Sites& sites, const Journal& done) {
  std::vector<std::string> changed;
  SitesView view(sites);
  for (const Operation& operation : done.operations) {
    if (operation.kind == Operation::Kind::kAttributes) continue;
    const bool is_put = operation.to.site == Site::kHost;
    if (!is_put && operation.from.site != Site::kHost) continue;
    const SitePath& place = is_put ? operation.to : operation.from;
    const auto now = sites.Look(place);
    if (!now) return now.error();
    const HostFile& file = operation.from_file;
    bool is_same = !now.value();
    if (is_put) {
      is_same =
          now.value() && (file.is_directory() ? now.value()->IsSameInode(file)
                                              : static_cast<const HostFile&>(*now.value()) == file);
      is_same = is_same && HasContents(&view, place, operation.contents);
    } else if (now.value()) {
      // The commit may have put a file in the place of the one that it removed.
      const auto is_other = [&place](const Operation& other) { return other.to == place; };
      is_same = std::any_of(done.operations.begin(), done.operations.end(), is_other);
    }
    const bool takes = !is_put || operation.kind == Operation::Kind::kExchange;
    const auto kept = takes && sites.is_exposed ? IsKept(sites, operation) : Result<bool>(true);
    if (!kept) return kept.error();
    if (!is_same || !kept.value()) changed.push_back(Shown(place));
  }
  return changed;
}

constexpr const char* kPlan = CommitDirectory::kPlan;
constexpr const char* kTorn = CommitDirectory::kTorn;
constexpr const char* kDone = CommitDirectory::kDone;
constexpr const char* kUndone = "undone";

CommitEnd Failed(Error why) {
  CommitEnd end;
  end.failed = std::move(why);
  return end;
}

// The error of the commit or undo itself; that of each later one is TornCommit.
Error TornNow(Journal::Kind kind, const std::string& path) {
  Error error = TornCommit();
  const char* const what = kind == Journal::Kind::kUndo ? "undo" : "commit";
  error.message = "the " + std::string(what) +
                  " could not be taken back whole: somebody else has changed " + path +
                  " meanwhile";
  return error;
}

// Takes a plan back that can't be done.
CommitEnd GiveUp(const CommitDirectory& directory, const Sites& sites, const Journal& plan,
                 NotDone why) {
  auto roll_back = TakeBack(sites, plan);
  if (roll_back && plan.kind == Journal::Kind::kUndo) FollowDone(directory, sites, plan);
  if (roll_back) {
    if (auto error = Conclude(directory, roll_back.value())) roll_back = std::move(*error);
  }
  CommitEnd end;
  end.failed = std::move(why.why);
  if (!roll_back) {
    end.failed->message +=
        "; it is taken back by the next who opens the transaction: " + roll_back.error().message;
    return end;
  }
  end.touched = std::move(roll_back->taken_back);
  AddEmptied(plan, &end.touched);
  if (!roll_back->torn.empty()) {
    end.is_torn = true;
    end.failed = TornNow(plan.kind, roll_back->torn.front());
    end.conflicts = std::move(roll_back->torn);
  }
  return end;
}

// Finds files of the host's whose ctime our own renames have set: those with several names.
class Renamed {
 public:
  Likeness LikenessFor(const Operation& operation) {
    const bool is_exchange = operation.kind == Operation::Kind::kExchange;
    if (!is_exchange && operation.from.site != Site::kHost) return Likeness::kExact;
    const HostFile& file = is_exchange ? operation.to_file : operation.from_file;
    const bool is_new = files_.emplace(file.device, file.inode).second;
    return is_new ? Likeness::kExact : Likeness::kContent;
  }

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>> files_;
};

// Writes the plan to disk before the first operation, and all operations before it returns.
CommitEnd Execute(const CommitDirectory& directory, const Sites& sites, const Journal& plan) {
  if (auto error = directory.FlushBackup(sites)) return Failed(std::move(*error));
  if (auto error = directory.Write(kPlan, plan)) {
    static_cast<void>(directory.Drop(kPlan));
    return Failed(std::move(*error));
  }
  Renamed renamed;
  Performer performer(sites);
  for (auto operation = plan.operations.begin();; ++operation) {
    const bool is_last = operation == plan.operations.end();
    auto not_done =
        is_last ? performer.Settle() : performer.Do(*operation, renamed.LikenessFor(*operation));
    if (!not_done && is_last) break;
    if (!not_done) continue;
    static_cast<void>(
        performer.Settle());  // takes earlier operations back whose directory has moved
    CommitEnd end = GiveUp(directory, sites, plan, *not_done);
    if (not_done->is_conflict && end.conflicts.empty()) {
      const Operation& at = is_last ? plan.operations.back() : *operation;
      end.conflicts.push_back(Shown(at.from.site == Site::kHost ? at.from : at.to));
    }
    return end;
  }
  const std::uint64_t changed_ns = NowNs();
  // Whoever had one of the host's files open may have written to it until it was taken away.
  auto written = WrittenMeanwhile(sites, plan);
  if (!written.empty()) {
    const std::string why = written.front() + " was changed by somebody else";
    CommitEnd end = GiveUp(directory, sites, plan, {true, {ErrorCode::kSetup, why, ""}});
    if (end.conflicts.empty()) end.conflicts = std::move(written);
    return end;
  }
  if (auto error = SyncSites(sites)) {
    return GiveUp(directory, sites, plan, {false, std::move(*error)});
  }
  CommitEnd end;
  end.touched = plan.operations;
  end.kind = plan.kind;
  end.changed_ns = changed_ns;
  return end;
}

// Notes the current state of a file of the host's at its new place, so that its ctime shows later
// changes.
std::optional<Error> Follow(SitesView* view, const SitePath& place, HostFile* file) {
  const auto now = view->Look(place);
  if (!now) return now.error();
  if (!now.value() || !now.value()->IsSameInode(*file)) {
    return Error{ErrorCode::kSetup, Shown(place) + " was changed by somebody else", ""};
  }
  // Another process has already written to the new file: the old state must show that.
  const bool is_theirs = place.site == Site::kHost && !file->is_directory();
  if (is_theirs && !now.value()->HasSameContent(*file)) return std::nullopt;
  *file = *now.value();
  return std::nullopt;
}

Result<Journal> AsDone(const Sites& sites, const Journal& plan, const Contents& put) {
  Journal done = plan;
  SitesView view(sites);
  for (std::size_t at = 0; at < done.operations.size(); ++at) {
    Operation& operation = done.operations[at];
    operation.contents = put[at];
    const bool is_exchange = operation.kind == Operation::Kind::kExchange;
    if (operation.kind == Operation::Kind::kAttributes) continue;
    if (operation.to.site != Site::kHost && operation.from.site != Site::kHost) continue;
    auto error = Follow(&view, operation.to, &operation.from_file);
    if (!error && is_exchange) error = Follow(&view, operation.from, &operation.to_file);
    if (error) return std::move(*error);
  }
  return done;
}

CommitEnd Try(const CommitDirectory& directory, int host, int upper,
              const std::vector<Change>& changes, const PlanOptions& options) {
  auto sites = directory.OpenSites(host, upper);
  if (!sites) return Failed(std::move(sites.error()));
  auto operations = PlanCommit(*sites, changes, options);
  if (!operations) return Failed(std::move(operations.error()));
  AddContents(*options.ledger, &*operations);
  auto changed = ChangedByHost(*sites, *operations, *options.ledger);
  if (!changed.empty()) {
    CommitEnd end = Failed({ErrorCode::kSetup, changed.front() + " was changed by the host", ""});
    end.conflicts = std::move(changed);
    return end;
  }
  const Contents put = ToBePut(*sites, *operations);
  const Journal plan = {Journal::Kind::kCommit, std::move(*operations)};
  CommitEnd end = Execute(directory, *sites, plan);
  if (end.failed) return end;
  auto done = AsDone(*sites, plan, put);
  if (!done) return GiveUp(directory, *sites, plan, {true, std::move(done.error())});
  if (auto error = directory.Write(kDone, *done)) {
    // It may be on disk; it must not be before anything is taken back.
    if (auto still = directory.Drop(kDone)) return Failed(std::move(*still));
    return GiveUp(directory, *sites, plan, {false, std::move(*error)});
  }
  return end;
}

}  // namespace

CommitEnd CommitChanges(int transaction, int host, int upper, const std::vector<Change>& changes,
                        const Ledger& ledger, const CopyManifest* copies,
                        const GivenContents& contents, bool has_earlier_overlay) {
  auto earlier = CommitDirectory::Open(transaction);
  if (!earlier) return Failed(std::move(earlier.error()));
  if (*earlier) {
    const auto is_torn = (*earlier)->Holds(kTorn);
    const auto is_begun = (*earlier)->Holds(kPlan);
    if (!is_torn) return Failed(is_torn.error());
    if (!is_begun) return Failed(is_begun.error());
    if (is_torn.value()) return Failed(TornCommit());
    if (is_begun.value()) {
      return Failed({ErrorCode::kSetup, "an earlier commit has still to be taken back",
                     "close the transaction, and open it again"});
    }
  }
  auto use = UpperUse::kCopy;
  if (copies == nullptr) use = CanRename(host, upper) ? UpperUse::kMove : UpperUse::kStage;
  auto directory = CommitDirectory::Make(transaction, host, use != UpperUse::kMove);
  if (!directory) return Failed(std::move(directory.error()));
  CommitEnd end =
      Try(*directory, host, upper, changes, {use, has_earlier_overlay, copies, &ledger, &contents});
  end.is_whole = contents.empty();
  // Its copies, perhaps beside the workspace, are of no more use.
  if (end.failed && !NeedsRecovery(transaction)) {
    static_cast<void>(CommitDirectory::Remove(transaction));
  }
  return end;
}

CommitEnd UndoCommit(int transaction, int host, int upper) {
  const Error nothing = {ErrorCode::kSetup, "there is no commit to be taken back", ""};
  auto directory = CommitDirectory::Open(transaction, host);
  if (!directory) return Failed(std::move(directory.error()));
  if (!*directory) return Failed(nothing);
  auto done = (*directory)->Read(kDone);
  if (!done) return Failed(std::move(done.error()));
  if (!*done) return Failed(nothing);
  const auto is_torn = (*directory)->Holds(kTorn);
  if (!is_torn) return Failed(is_torn.error());
  if (is_torn.value()) return Failed(TornCommit());
  auto sites = (*directory)->OpenSites(host, upper);
  if (!sites) return Failed(std::move(sites.error()));
  auto changed = ChangedSince(*sites, **done);
  if (!changed) return Failed(std::move(changed.error()));
  if (!changed->empty()) {
    CommitEnd end = Failed({ErrorCode::kSetup, "the host has changed what was committed", ""});
    end.conflicts = std::move(*changed);
    return end;
  }
  auto undo = PlanUndo(*sites, **done);
  if (!undo) return Failed(std::move(undo.error()));
  const Journal plan = std::move(*undo);
  CommitEnd end = Execute(**directory, *sites, plan);
  if (end.failed) return end;
  if (auto error = (*directory)->Rename(kPlan, kUndone)) return Failed(std::move(*error));
  static_cast<void>((*directory)->Drop(kDone));  // otherwise the next open does it
  return end;
}

Error TornCommit() {
  return Error{ErrorCode::kSetup,
               "an earlier commit could not be taken back whole: somebody else had changed files "
               "meanwhile",
               "look at what the files were, in commit/aside of the transaction's directory or in "
               "the directory that commit/place there names"};
}

bool NeedsRecovery(int transaction) {
  const auto directory = CommitDirectory::Open(transaction);
  if (!directory) return true;
  if (!directory.value()) return false;
  for (const char* name : {kTorn, kPlan}) {
    const auto is_there = directory.value()->Holds(name);
    if (!is_there || is_there.value()) return true;
  }
  return false;
}

bool IsCommitPending(int transaction) {
  const auto directory = CommitDirectory::Open(transaction);
  if (!directory) return true;
  if (!directory.value()) return false;
  const auto is_there = directory.value()->Holds(kPlan);
  return !is_there || is_there.value();
}

void ForgetPlan(int transaction) {
  const auto directory = CommitDirectory::Open(transaction);
  if (!directory || !directory.value()) return;
  const auto is_done = directory.value()->Holds(kDone);
  // Otherwise the next open does it.
  if (is_done && is_done.value()) static_cast<void>(directory.value()->Drop(kPlan));
}

bool HasCommit(int transaction) {
  const auto directory = CommitDirectory::Open(transaction);
  if (!directory || !directory.value()) return false;
  const auto is_done = directory.value()->Holds(kDone);
  return is_done && is_done.value();
}

void ForgetUndone(int transaction) {
  const auto directory = CommitDirectory::Open(transaction);
  if (!directory || !directory.value()) return;
  const auto is_undone = directory.value()->Holds(kUndone);
  if (is_undone && is_undone.value()) static_cast<void>(CommitDirectory::Remove(transaction));
}

Recovered ForeseeRecovery(int transaction) {
  const auto opened = CommitDirectory::Open(transaction);
  if (!opened) return Recovered::kTorn;
  if (!opened.value()) return Recovered::kNothing;
  const CommitDirectory& directory = *opened.value();
  const auto is_torn = directory.Holds(kTorn);
  const auto is_undone = directory.Holds(kUndone);
  const auto is_done = directory.Holds(kDone);
  const auto plan = directory.Read(kPlan);
  if (!is_torn || is_torn.value() || !is_undone || !is_done || !plan) return Recovered::kTorn;
  if (is_undone.value()) return Recovered::kCompleted;
  if (!plan.value()) return Recovered::kNothing;
  const bool was_done = plan.value()->kind == Journal::Kind::kCommit && is_done.value();
  return was_done ? Recovered::kCompleted : Recovered::kRolledBack;
}

Result<Recovery> RecoverCommit(int transaction, int host, int upper,
                               const std::function<void(const Recovery&)>& note) {
  auto directory = CommitDirectory::Open(transaction, host);
  if (!directory) return directory.error();
  if (!*directory) return Recovery{};
  const auto is_torn = (*directory)->Holds(kTorn);
  const auto is_undone = (*directory)->Holds(kUndone);
  const auto is_done = (*directory)->Holds(kDone);
  for (const Result<bool>* known : {&is_torn, &is_undone, &is_done})
    if (!*known) return known->error();
  if (is_torn.value()) return Recovery{Recovered::kTorn, {}, {}};
  if (is_undone.value()) {
    auto undone = (*directory)->Read(kUndone);
    if (!undone) return undone.error();
    Recovery recovery{Recovered::kCompleted, std::move((*undone)->operations),
                      Journal::Kind::kUndo};
    if (note) note(recovery);
    if (auto error = CommitDirectory::Remove(transaction)) return *error;
    return recovery;
  }
  auto plan = (*directory)->Read(kPlan);
  if (!plan) return plan.error();
  const bool was_done = is_done.value();
  if (!*plan) {
    // Nothing was begun; only prepared files exist.
    if (!was_done) {
      if (auto error = CommitDirectory::Remove(transaction)) return *error;
    }
    return Recovery{};
  }
  if (was_done && (*plan)->kind == Journal::Kind::kCommit) {
    Recovery recovery{Recovered::kCompleted, std::move((*plan)->operations), (*plan)->kind};
    if (note) note(recovery);
    if (auto error = (*directory)->Drop(kPlan)) return *error;
    return recovery;
  }
  auto sites = (*directory)->OpenSites(host, upper);
  if (!sites) return sites.error();
  auto begun = KeepBegun(**directory, *sites, **plan);
  if (!begun) return begun.error();
  const auto roll_back = TakeBack(*sites, *begun);
  if (!roll_back) return roll_back.error();
  if (begun->kind == Journal::Kind::kUndo) FollowDone(**directory, *sites, *begun);
  const bool is_whole = roll_back.value().torn.empty();
  Recovery recovery{is_whole ? Recovered::kRolledBack : Recovered::kTorn,
                    std::move(begun->operations), begun->kind};
  AddEmptied(**plan, &recovery.touched);
  if (note) note(recovery);
  if (auto error = Conclude(**directory, roll_back.value())) return *error;
  // Its copies, perhaps beside the workspace, are of no more use.
  if (is_whole && !was_done) {
    if (auto error = CommitDirectory::Remove(transaction)) return *error;
  }
  return recovery;
}

namespace {

// Returns the place of the host's file that an operation takes away or replaces; nullptr: it does
// neither.
const SitePath* TakenBy(const Operation& operation) {
  if (operation.kind == Operation::Kind::kExchange) return &operation.to;
  const bool is_move = operation.kind == Operation::Kind::kMove;
  return is_move && operation.from.site == Site::kHost ? &operation.from : nullptr;
}

}  // namespace

bool HasContents(SitesView* view, const SitePath& place,
                 const std::optional<std::uint64_t>& contents) {
  if (!contents) return true;
  const auto directory = view->ParentOf(place);
  return directory && directory.value() != nullptr &&
         HasNoted(*directory.value(), std::string(SplitPath(place.path).name), contents);
}

void AddContents(const Ledger& ledger, std::vector<Operation>* operations) {
  for (Operation& operation : *operations) {
    const SitePath* taken = TakenBy(operation);
    if (taken == nullptr) continue;
    const auto known = ledger.baselines.find(Shown(*taken));
    if (known != ledger.baselines.end()) operation.contents = known->second.contents;
  }
}

std::vector<std::string> WrittenMeanwhile(const Sites& sites, const Journal& plan) {
  std::map<std::pair<Site, std::string>, const Operation*> taken;  // by where it is by now
  for (const Operation& operation : plan.operations) {
    const bool is_move = operation.kind == Operation::Kind::kMove;
    auto moved = is_move ? taken.extract({operation.from.site, operation.from.path})
                         : decltype(taken)::node_type();
    if (!moved.empty()) {
      moved.key() = {operation.to.site, operation.to.path};
      taken.insert(std::move(moved));
    }
    if (TakenBy(operation) == nullptr || !operation.contents) continue;
    const SitePath& place = is_move ? operation.to : operation.from;
    taken.emplace(std::pair(place.site, place.path), &operation);
  }
  std::vector<std::string> written;
  SitesView view(sites);
  for (const auto& [key, operation] : taken) {
    const SitePath place = {key.first, key.second};
    const bool is_move = operation->kind == Operation::Kind::kMove;
    const HostFile& file = is_move ? operation->from_file : operation->to_file;
    const auto now = view.Look(place);
    if (!now || !now.value() || !now.value()->HasSameContent(file)) continue;
    if (!HasContents(&view, place, operation->contents)) {
      written.push_back(Shown(*TakenBy(*operation)));
    }
  }
  return written;
}

Contents ToBePut(const Sites& sites, const std::vector<Operation>& operations) {
  const bool hides_writes = HidesMappedWrites(sites.host.root());
  const std::uint64_t now = FileClock();
  Contents contents(operations.size());
  SitesView view(sites);
  std::map<std::string, SitePath> origins;  // of files in the backup
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Operation& operation = operations[at];
    const HostFile& file = operation.from_file;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.to.site == Site::kBackup) {
      origins.insert_or_assign(operation.to.path, operation.from);
    }
    if (operation.to.site != Site::kHost || operation.kind == Operation::Kind::kAttributes)
      continue;
    if (file.is_directory() || (!hides_writes && !MayBeSince(file.modified_ns, now))) continue;
    const auto origin = origins.find(operation.from.path);
    const bool has_moved = operation.from.site == Site::kBackup && origin != origins.end();
    const SitePath& place = has_moved ? origin->second : operation.from;
    const auto directory = view.ParentOf(place);
    if (!directory || directory.value() == nullptr) continue;
    const std::string name(SplitPath(place.path).name);
    const auto node = directory.value()->Look(name);
    if (node && node.value()) contents[at] = ContentsOf(*directory.value(), name, *node.value());
  }
  return contents;
}

}  // namespace native_runner
