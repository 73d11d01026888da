#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "policy/transaction/file_systems.h"
#include "workspace/changes/same_file.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/commit_directory.h"
#include "workspace/commit/staging.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/transaction/merge.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/helper_thread.h"

// Commits that merge what the host has changed meanwhile: what the transaction has becomes what
// both have made of it, which then is committed as ever. If the process dies in between, each file
// of the transaction is the one or the other, and the host's are as they were.

namespace native_runner {
namespace {

constexpr const char* kBaseUnknown =
    "the host has changed it too, and what it was before was not kept";
constexpr const char* kMaybeLater =
    "the host may have changed it while the transaction first did: what it was before is not known";
constexpr const char* kHostAbove = "the host has removed or replaced a directory above it";
constexpr const char* kOtherAttributes =
    "it has other extended attributes, or another access control list, than on the host";
constexpr const char* kNoMergedText = "it is no text of at most 8 MiB, or can't be read";
constexpr const char* kHostGone = "changed here, deleted on the host";
constexpr const char* kHereGone = "deleted here, changed on the host";
constexpr const char* kBothMade = "both have added it, with other contents";
constexpr const char* kHostMode = "both have changed its mode or owner";
constexpr const char* kHostType = "it is of another type on the host";
constexpr const char* kHostLink = "both have changed where the link leads";

std::optional<std::uint64_t> DigestOfText(const std::string& text) {
  const Descriptor file(memfd_create("text", MFD_CLOEXEC));
  if (!file.valid() || !WriteBytes(file.get(), text)) return std::nullopt;
  return DigestOf(file.get());
}

std::string LastOf(const std::string& path) {
  return std::string(SplitPath(path).name);
}

bool IsExactly(const std::optional<Node>& node, const HostFile& file) {
  return node && static_cast<const HostFile&>(*node) == file;
}

std::optional<std::string> TextAt(const std::string& path, const Spot& spot) {
  if (spot.node->size > kMostText) return std::nullopt;
  const auto file = spot.directory->OpenFile(LastOf(path));
  if (!file) return std::nullopt;
  auto text = ReadBytes(file.value().get(), 0, spot.node->size);
  const auto now = NodeOf(file.value().get());
  if (!text || !now || !IsExactly(now.value(), *spot.node)) return std::nullopt;
  return text;
}

// Whether the host still has the directories above that the transaction has changed something in.
bool HasDirectoriesAbove(const std::string& path, const Ledger& ledger, const ScannedTree& host) {
  std::string above = path;
  for (auto slash = above.rfind('/'); slash != std::string::npos; slash = above.rfind('/')) {
    above.resize(slash);
    const auto known = ledger.baselines.find(above);
    if (known == ledger.baselines.end() || !known->second.host) continue;
    const auto spot = SpotOf(host, above);
    if (!spot || !spot.value().node || !spot.value().node->IsSameInode(*known->second.host)) {
      return false;
    }
  }
  return true;
}

MergeStep ConflictOf(const std::string& path, const char* reason) {
  return {path, MergeStep::Verdict::kConflict, reason};
}

}  // namespace

// What the host's file was that a baseline is of, by its contents.
class Transaction::BaseTexts {
 public:
  explicit BaseTexts(const TransactionDirectory& directory) : directory_(directory) {}

  std::optional<std::string> Find(const std::string& path, const Baseline& baseline) {
    if (places_.empty()) Load();
    for (const KeptTexts& kept : places_) {
      auto text = kept.Find(path, *baseline.host);
      if (!text) continue;
      if (!baseline.contents || DigestOfText(*text) == baseline.contents) return text;
    }
    return std::nullopt;
  }

 private:
  // Its own, those for copies, then those of others: of one that it was merged with, for example.
  void Load() {
    const FileSystemList& file_systems = directory_.file_systems();
    auto own = DuplicateOf(directory_.descriptor());
    if (own) places_.emplace_back(std::move(*own), file_systems);
    auto state = DuplicateOf(directory_.state_descriptor());
    if (state && directory_.is_copy()) {
      const std::string& workspace = directory_.record().workspace;
      places_.push_back(KeptTexts::OfCopies(std::move(*state), workspace, file_systems));
    }
    const auto others = directory_.Others();
    if (!others) return;  // more conflicts, never fewer
    for (const TransactionRecord& other : others.value()) {
      Descriptor directory = directory_.OpenOther(other.id);
      if (directory.valid()) places_.emplace_back(std::move(directory), file_systems);
    }
  }

  const TransactionDirectory& directory_;
  std::vector<KeptTexts> places_;
};

MergeStep Transaction::JudgeConflict(const Change& change, const Trees& trees, BaseTexts* bases) {
  const std::string& path = change.path;
  const auto known = ledger_.baselines.find(path);
  if (change.mode == 0) return ConflictOf(path, kHereGone);
  const auto here = SpotOf(trees.upper, path);
  const auto there = SpotOf(trees.lower, path);
  if (!here || !there || !here.value().node) return ConflictOf(path, kBaseUnknown);
  if (known == ledger_.baselines.end()) {
    // The ledger of a copy has all that the host had.
    const bool is_made = copy_ && there.value().node;
    return ConflictOf(path, is_made ? kBothMade : copy_ ? kHostAbove : kBaseUnknown);
  }
  const Baseline& baseline = known->second;
  if (!HasDirectoriesAbove(path, ledger_, trees.lower)) return ConflictOf(path, kHostAbove);
  if (baseline.is_suspect) return ConflictOf(path, kMaybeLater);
  if (!there.value().node) {
    return ConflictOf(path, baseline.host ? kHostGone : kHostAbove);
  }
  const Node& host = *there.value().node;
  Node ours = *here.value().node;
  if ((ours.mode & S_IFMT) != (host.mode & S_IFMT)) return ConflictOf(path, kHostType);
  if (!baseline.host) return ConflictOf(path, kBothMade);
  if ((baseline.host->mode & S_IFMT) != (host.mode & S_IFMT)) return ConflictOf(path, kHostType);
  if (ours.is_link()) return ConflictOf(path, kHostLink);
  if (ours.is_directory()) return ConflictOf(path, kHostMode);
  if (!ours.is_file()) return ConflictOf(path, kHostType);
  if (copy_) {
    const auto copied = copy_->manifest().copies.find(path);
    if (copied == copy_->manifest().copies.end()) return ConflictOf(path, kBaseUnknown);
    static_cast<HostFile&>(ours) = AsOnHost(ours, &copied->second, &*baseline.host);
  }
  const auto mode = MergedMode(baseline.host->mode, ours.mode, host.mode);
  if (!mode || ours.uid != host.uid || ours.gid != host.gid) return ConflictOf(path, kHostMode);
  MergeStep step{path, MergeStep::Verdict::kMerge, "", *mode};
  const auto own = here.value().directory->OpenFile(LastOf(path));
  const auto hosts = there.value().directory->OpenFile(LastOf(path));
  if (!own || !hosts) return ConflictOf(path, kNoMergedText);
  if (!HaveSameAttributes(own.value().get(), hosts.value().get())) {
    return ConflictOf(path, kOtherAttributes);
  }
  auto our_text = TextAt(path, here.value());
  auto host_text = TextAt(path, there.value());
  if (!our_text || !host_text) return ConflictOf(path, kNoMergedText);
  const auto digest = DigestOfText(*host_text);
  if (!digest) return ConflictOf(path, kNoMergedText);
  if (*our_text != *host_text) {
    if (!IsText(*our_text) || !IsText(*host_text)) return ConflictOf(path, kNoMergedText);
    step.base = bases->Find(path, baseline);
    if (!step.base) return ConflictOf(path, kBaseUnknown);
    step.ours = std::move(our_text);
    step.theirs = std::move(host_text);
  }
  planned_.insert_or_assign(path, PlannedMerge{*here.value().node, host, digest});
  return step;
}

Result<MergePlan> Transaction::PlanCommitMerge(const CommitRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto trees = OpenTrees();
  if (!trees) return trees.error();
  const auto chosen = Choose(trees.value(), request);
  if (!chosen) return chosen.error();
  planned_.clear();
  const StopScope scope(&is_stopped_);
  BaseTexts bases(directory_);
  MergePlan plan;
  std::uint64_t bytes = 0;
  for (const Change& change : chosen.value().conflicts) {
    if (is_stopped_) return WasClosed();
    MergeStep step = JudgeConflict(change, trees.value(), &bases);
    if (step.base) bytes += step.base->size() + step.ours->size() + step.theirs->size();
    if (bytes > kMostTexts) step = ConflictOf(change.path, kNoMergedText);
    plan.push_back(std::move(step));
  }
  return plan;
}

// Returns the paths at which something else is than when a merge was planned.
Result<std::vector<std::string>> Transaction::NoMorePlanned(
    const Trees& trees, const std::vector<MergeRequest::File>& files) const {
  std::vector<std::string> others;
  SpotView upper_at(trees.upper);
  SpotView lower_at(trees.lower);
  for (const MergeRequest::File& file : files) {
    const auto planned = planned_.find(file.path);
    TRY_ASSIGN(const Spot here, upper_at.At(file.path));
    TRY_ASSIGN(const Spot there, lower_at.At(file.path));
    const bool is_planned = planned != planned_.end() &&
                            IsExactly(here.node, planned->second.ours) &&
                            IsExactly(there.node, planned->second.host);
    if (!is_planned) others.push_back(file.path);
  }
  return others;
}

// Gives what was planned its place in the transaction, file by file. Returns the paths at which
// something else is by now; then nothing was changed.
Result<std::vector<std::string>> Transaction::TakeMerged(
    const Trees& trees, const std::vector<MergeRequest::File>& files) {
  TRY_ASSIGN(std::vector<std::string> others, NoMorePlanned(trees, files));
  if (!others.empty()) return others;
  const int at = directory_.descriptor();
  if (auto error = RemoveOwn(at, kMergingTexts)) return *error;
  const auto merging = MakeOwn(at, kMergingTexts);
  if (!merging) return merging.error();
  // All that takes time, and may fail for want of space, before anything has changed.
  Staging staging(trees.upper, merging.value().get());
  for (std::size_t each = 0; each < files.size(); ++each) {
    const MergeRequest::File& file = files[each];
    if (!file.contents) continue;
    HostFile like = planned_.at(file.path).ours;
    if (!copy_) like.mode = (like.mode & S_IFMT) | (file.mode & kModeBits);
    const auto staged = staging.CopyWith(*file.contents, file.path, like, std::to_string(each));
    if (!staged) {
      static_cast<void>(RemoveOwn(at, kMergingTexts));
      return staged.error();
    }
  }
  if (auto error = staging.Flush()) return *error;
  // The host's, for the case that it changes again before this is committed.
  std::vector<TextOnHost> texts;
  texts.reserve(files.size());
  for (const MergeRequest::File& file : files)
    texts.push_back({file.path, planned_.at(file.path).host});
  static_cast<void>(KeepTexts(at, trees.lower, texts, directory_.file_systems()));
  const std::uint64_t since = FileClock();
  for (std::size_t each = 0; each < files.size(); ++each) {
    const MergeRequest::File& file = files[each];
    const auto into = trees.upper.OpenToChange(SplitPath(file.path).parent);
    if (!into) return into.error();
    const std::string last = LastOf(file.path);
    const int to = into.value().descriptor();
    if (file.contents) {
      const std::string staged = std::to_string(each);
      if (renameat(merging.value().get(), staged.c_str(), to, last.c_str()) != 0) {
        return SystemError((file.path + ": rename").c_str(), errno);
      }
    } else if (!copy_ && fchmodat(to, last.c_str(), file.mode & kModeBits, 0) != 0) {
      return SystemError((file.path + ": chmod").c_str(), errno);
    }
  }
  // After the files, on disk too: a death, or a loss of power, in between leaves a conflict, which
  // the next merge finds to be none. The other way round, the next commit would overwrite the
  // host's.
  if (syncfs(at) != 0) return SystemError("syncfs", errno);
  for (const MergeRequest::File& file : files) {
    const PlannedMerge& planned = planned_.at(file.path);
    ledger_.baselines.insert_or_assign(file.path,
                                       Baseline{since, false, planned.host, planned.contents});
  }
  planned_.clear();
  static_cast<void>(RemoveOwn(at, kMergingTexts));  // else the next one does it
  if (auto error = directory_.KeepLedger(ledger_)) return *error;
  return others;
}

Result<Transaction::CommitResult> Transaction::CommitMerged(
    const Trees& trees, const CommitRequest& request,
    const std::vector<MergeRequest::File>& merged) {
  auto chosen = Choose(trees, request);
  if (!chosen) return chosen;
  std::set<std::string_view> merged_paths;
  for (const MergeRequest::File& file : merged)
    merged_paths.insert(file.path);
  const auto is_merged = [&merged_paths](const Change& change) {
    return merged_paths.contains(change.path);
  };
  std::erase_if(chosen->conflicts, is_merged);
  if (!chosen->CanBeDone()) return chosen;
  if (auto error = Unmount()) return *error;
  const auto others = TakeMerged(trees, merged);
  if (!others) return others.error();
  if (others.value().empty()) return CommitEnded(trees, request);
  for (const Change& change : chosen->committed) {
    const auto& paths = others.value();
    if (std::find(paths.begin(), paths.end(), change.path) == paths.end()) continue;
    chosen->conflicts.push_back(change);
    chosen->conflicts.back().conflict = true;
  }
  if (!chosen->conflicts.empty()) return chosen;
  return Error{ErrorCode::kSetup, others.value().front() + " has changed since it was merged",
               "commit again"};
}

// Keeps the host's texts of what the transaction has just been seen to have changed: of files that
// it has gone on with.
void Transaction::KeepNewTexts(const Trees& trees, std::uint64_t since_ns) const {
  std::vector<TextOnHost> texts;
  SpotView upper_at(trees.upper);
  for (const auto& [path, baseline] : ledger_.baselines) {
    const bool is_new = baseline.since_ns == since_ns && !baseline.is_suspect && baseline.host &&
                        S_ISREG(baseline.host->mode);
    if (!is_new) continue;
    const auto now = upper_at.At(path);
    if (now && now.value().node && now.value().node->is_file()) {
      texts.push_back({path, *baseline.host});
    }
  }
  // Without them there are more conflicts, never fewer.
  static_cast<void>(
      KeepTexts(directory_.descriptor(), trees.lower, texts, directory_.file_systems()));
}

// The same for other transactions of the workspace that are copies, and so have no baselines of
// what they have just changed: what is about to be replaced.
void Transaction::KeepForCopies(const Trees& trees, const std::vector<std::string>& paths) const {
  const auto oldest = directory_.OldestOtherCopy();
  const int state = directory_.state_descriptor();
  const std::string& workspace = directory_.record().workspace;
  TidyReplacedTexts(state, workspace, oldest);
  if (!oldest) return;
  std::vector<TextOnHost> texts;
  SpotView lower_at(trees.lower);
  for (const std::string& path : paths) {
    const auto host = lower_at.At(path);
    if (host && host.value().node && host.value().node->is_file()) {
      texts.push_back({path, *host.value().node});
    }
  }
  // Without them there are more conflicts, never fewer.
  static_cast<void>(
      KeepReplacedTexts(state, workspace, trees.lower, texts, directory_.file_systems()));
}

void Transaction::KeepBeforeCommit(const Trees& trees, const std::vector<Change>& changes) const {
  std::vector<std::string> paths;
  for (const Change& change : changes)
    if (S_ISREG(change.mode) && S_ISREG(change.previous_mode)) paths.push_back(change.path);
  if (!paths.empty()) KeepForCopies(trees, paths);
}

// What the commit has left on the host goes.
std::optional<Error> Transaction::KeepBeforeUndo(const Trees& trees) const {
  const auto commit = CommitDirectory::Open(directory_.descriptor());
  if (!commit || !commit.value()) return std::nullopt;  // the undo itself says so
  const auto done = commit.value()->Read(CommitDirectory::kDone);
  if (!done || !done.value()) return std::nullopt;
  std::vector<std::string> paths;
  std::vector<std::string> files;
  for (const auto& [path, left] : LeftBy(done.value()->operations)) {
    paths.push_back(path);
    if (left && S_ISREG(left->mode)) files.push_back(path);
  }
  if (auto error = KeepReplacedBy(Journal::Kind::kUndo, paths, trees.lower)) return error;
  if (!files.empty()) KeepForCopies(trees, files);
  return std::nullopt;
}

void Transaction::TidyMerges() const {
  TidyTexts(directory_.descriptor(), ledger_, directory_.file_systems());
  static_cast<void>(RemoveOwn(directory_.descriptor(), kMergingTexts));
}

}  // namespace native_runner
