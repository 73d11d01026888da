#include "workspace/transaction/merge.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "supervise/os/descriptor.h"
#include "workspace/changes/same_file.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/files/directory_entries.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

// Bytes of texts that are compared to find renamed files that were edited too, in one plan.
constexpr std::uint64_t kMostCompared = std::uint64_t{256} << 20U;
constexpr std::uint64_t kLookCosts = std::uint64_t{4} << 10U;  // as many, to open a file

constexpr const char* kBinary = "both have changed it, and it is no text";
constexpr const char* kTooLarge =
    "both have changed it, and it is too large to be merged, or can't be read";
constexpr const char* kBothAdded = "both have added it, with other contents";
constexpr const char* kBothModes = "both have changed its mode or owner";
constexpr const char* kBothTargets = "both have changed where the link leads";
constexpr const char* kBothTypes = "it is of another type in each";
constexpr const char* kNoOneBase =
    "both have changed it, and what they have come from had different contents there";
constexpr const char* kGoneHere = "deleted here, changed there";
constexpr const char* kGoneThere = "changed here, deleted there";
constexpr const char* kInTheWay = "what is here is no directory, and there something is below it";
constexpr const char* kNotEmpty = "there it is no directory, and here something else is below it";

std::string NameOf(const std::string& path) {
  return std::string(SplitPath(InTree(path)).name);
}

// Counts the bytes of each line, cut into pieces of 64 bytes.
std::unordered_map<std::string_view, std::size_t> PiecesOf(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  std::unordered_map<std::string_view, std::size_t> pieces;
  while (!text.empty()) {
    const std::size_t line = text.substr(0, kLongest).find('\n');
    const std::string_view piece =
        text.substr(0, line == std::string_view::npos ? kLongest : line + 1);
    pieces[piece] += piece.size();
    text.remove_prefix(piece.size());
  }
  return pieces;
}

// The share of the larger text that both have, from 0 to 1: the measure by which git finds renames
// (diffcore-rename).
double Similarity(std::string_view one, std::string_view other) {
  const auto pieces = PiecesOf(one);
  std::size_t common = 0;
  for (const auto& [piece, bytes] : PiecesOf(other)) {
    const auto found = pieces.find(piece);
    if (found != pieces.end()) common += std::min(bytes, found->second);
  }
  return static_cast<double>(common) / static_cast<double>(std::max(one.size(), other.size()));
}

bool IsFile(const Spot& spot) {
  return spot.node && spot.node->is_file();
}

class Planner {
 public:
  Planner(const MergeSide& ours, const MergeSide& theirs, const MergeBase& base,
          const ScannedTree& host)
      : ours_(ours),
        theirs_(theirs),
        base_(base),
        ours_at_(ours.tree),
        theirs_at_(theirs.tree),
        host_at_(host) {
    Note(ours_.changes, &our_changes_);
    Note(theirs_.changes, &their_changes_);
  }

  Result<MergePlan> Run(const PathFilter& paths, bool takes_all) {
    std::set<std::string> all;
    for (const auto* changes : {&our_changes_, &their_changes_})
      for (const auto& [path, change] : *changes)
        all.insert(path);
    base_.AddPaths(&all);
    for (const std::string& path : all) {
      if (IsStopped()) return Error{ErrorCode::kClosed, "the transaction was closed", ""};
      if (!paths.Has(InTree(path))) continue;
      if (auto error = Judge(path, takes_all)) return *error;
    }
    if (auto error = CheckDirectories(all)) return *error;
    MergePlan plan;
    for (auto& [path, step] : steps_)
      plan.push_back(std::move(step));
    return plan;
  }

 private:
  using ByPath = std::map<std::string, const Change*>;

  static void Note(const std::vector<Change>& changes, ByPath* by_path) {
    for (const Change& change : changes)
      by_path->emplace(change.path, &change);
  }

  // A step that was made for a rename stands.
  void Add(MergeStep step) {
    std::string path = step.path;
    steps_.emplace(std::move(path), std::move(step));
  }
  void Conflict(const std::string& path, const char* reason) {
    Add({path, MergeStep::Verdict::kConflict, reason});
  }

  std::optional<Error> Judge(const std::string& path, bool takes_all) {
    const auto ours = ours_at_.At(path);
    if (!ours) return ours.error();
    const auto theirs = theirs_at_.At(path);
    if (!theirs) return theirs.error();
    const Spot& here = ours.value();
    const Spot& there = theirs.value();
    if (AreAlike(path, here, there)) return std::nullopt;
    if (takes_all) {
      Add({path, MergeStep::Verdict::kTheirs});
    } else if (HasChanged(path, there, theirs_, their_changes_)) {
      if (!HasChanged(path, here, ours_, our_changes_)) {
        TakeTheirs(path, there);
      } else {
        return JudgeBoth(path, here, there);
      }
    }
    return std::nullopt;
  }

  static bool AreAlike(const std::string& path, const Spot& one, const Spot& other) {
    if (!one.node || !other.node) return !one.node && !other.node;
    return AreSame({one.node, other.node}, NameOf(path), *one.directory, *other.directory);
  }

  void TakeTheirs(const std::string& path, const Spot& there) {
    if (there.node && IsInTheWay(path)) return Conflict(path, kInTheWay);
    Add({path, MergeStep::Verdict::kTheirs});
  }

  // Whether ours has something that is no directory above the path, and keeps it.
  bool IsInTheWay(const std::string& path) {
    std::string above = path;
    for (auto slash = above.rfind('/'); slash != std::string::npos; slash = above.rfind('/')) {
      above.resize(slash);
      const auto spot = ours_at_.At(above);
      if (!spot || !spot.value().node || spot.value().node->is_directory()) continue;
      const auto step = steps_.find(above);
      return step == steps_.end() || step->second.verdict != MergeStep::Verdict::kTheirs;
    }
    return false;
  }

  // Where a side has what the host has now, or goes on from that, this is the best base.
  bool IsFromHostsNow(const std::string& path, const MergeSide& side, const ByPath& changes) {
    const auto change = changes.find(path);
    if (change != changes.end()) return !change->second->conflict;
    if (side.as_host.contains(path)) return false;  // by a change of its own, before the host's
    if (!side.is_copy) return true;
    const auto here = (&side == &ours_ ? ours_at_ : theirs_at_).At(path);
    const auto host = host_at_.At(path);
    return here && host && AreAlike(path, here.value(), host.value());
  }

  std::optional<MergeBase::Found> FindBase(const std::string& path) {
    const auto found = base_.Find(path);
    const bool is_other = found && found->is_hosts && found->rivals.empty() &&
                          IsFromHostsNow(path, ours_, our_changes_) &&
                          IsFromHostsNow(path, theirs_, their_changes_);
    return is_other ? std::nullopt : found;
  }

  bool HasChanged(const std::string& path, const Spot& spot, const MergeSide& side,
                  const ByPath& changed) {
    const auto found = FindBase(path);
    if (!found) return changed.count(path) != 0 && !IsLeftover(path, spot);
    // Of what both have come from, each may have gone back to the one from the other.
    if (!found->rivals.empty()) return true;
    // Nor is it known what a change was made of, also one that the host has by now too: perhaps of
    // what the host had since. Who has removed that has what was there before, and has changed it;
    // but who has undone its commit has that again as it was.
    const auto& undone_by = found->kept->about().origins;
    const bool is_restored =
        std::find(undone_by.begin(), undone_by.end(), side.id) != undone_by.end();
    const auto change = changed.find(path);
    const bool is_change = change != changed.end() && (change->second->conflict || !is_restored);
    if (found->is_hosts && (is_change || side.as_host.contains(path))) return true;
    return !found->kept->IsAt(*found->entry, spot, NameOf(path));
  }

  // Returns true if a side still has the file that both have come from, and the host has removed it
  // since: then the side has not changed it.
  bool IsLeftover(const std::string& path, const Spot& spot) {
    const auto found = base_.Find(path);
    if (!found || !spot.node || !found->kept->IsAt(*found->entry, spot, NameOf(path))) return false;
    const auto host = host_at_.At(path);
    return host && !host.value().node;
  }

  bool HasRivals(const std::string& path) {
    const auto found = FindBase(path);
    return found && !found->rivals.empty();
  }

  // Whether one of the states that both have come from had these contents.
  bool WereContents(const std::string& path, const std::string& contents) {
    const auto found = FindBase(path);
    if (!found) return false;
    const auto is = [&contents](const MergeBase::Had& had) {
      return had.kept != nullptr && had.kept->ContentsOf(*had.entry) == contents;
    };
    return is(*found) || std::any_of(found->rivals.begin(), found->rivals.end(), is);
  }

  // As stat(2) has it; 0: nothing was there.
  std::uint32_t BaseMode(const std::string& path) {
    if (const auto found = FindBase(path)) return found->entry->mode;
    const auto spot = host_at_.At(path);
    return spot && spot.value().node ? spot.value().node->mode : 0;
  }

  std::optional<std::string> BaseContents(const std::string& path) {
    if (const auto found = FindBase(path)) {
      const KeptPaths::Entry& entry = *found->entry;
      if (!entry.is_file() || entry.size > kMostText) return std::nullopt;
      return found->kept->ContentsOf(entry);
    }
    const auto spot = host_at_.At(path);
    return spot && IsFile(spot.value()) ? Contents(path, spot.value()) : std::nullopt;
  }

  static std::optional<std::string> Contents(const std::string& path, const Spot& spot) {
    if (spot.node->size > kMostText) return std::nullopt;
    const auto file = spot.directory->OpenFile(NameOf(path));
    return file ? ReadBytes(file.value().get(), 0, spot.node->size) : std::nullopt;
  }

  std::optional<Error> JudgeBoth(const std::string& path, const Spot& here, const Spot& there) {
    if (!here.node || !there.node) {
      if (HasRivals(path) || !FollowRename(path, here, there)) {
        Conflict(path, here.node ? kGoneThere : kGoneHere);
      }
      return std::nullopt;
    }
    const Node& ours = *here.node;
    const Node& theirs = *there.node;
    if ((ours.mode & S_IFMT) != (theirs.mode & S_IFMT)) {
      Conflict(path, kBothTypes);
    } else if (ours.is_link()) {
      Conflict(path, kBothTargets);
    } else {
      const bool is_known = ours.mode == theirs.mode || !HasRivals(path);
      const auto mode = is_known ? MergedMode(BaseMode(path), ours.mode, theirs.mode)
                                 : std::optional<std::uint32_t>();
      const bool is_others = ours.uid != theirs.uid || ours.gid != theirs.gid;
      if (!mode || is_others) {
        Conflict(path, kBothModes);
      } else if (ours.is_file()) {
        MergeFiles(path, here, there, *mode);
      } else {
        Add({path, MergeStep::Verdict::kMerge, "", *mode});
      }
    }
    return std::nullopt;
  }

  void MergeFiles(const std::string& path, const Spot& here, const Spot& there,
                  std::uint32_t mode) {
    auto ours = Contents(path, here);
    auto theirs = Contents(path, there);
    if (!ours || !theirs) return Conflict(path, kTooLarge);
    if (*ours == *theirs) return Add({path, MergeStep::Verdict::kMerge, "", mode});
    auto base = BaseContents(path);
    if (!base) return Conflict(path, BaseMode(path) == 0 ? kBothAdded : kTooLarge);
    const bool is_back =
        HasRivals(path) && (WereContents(path, *ours) || WereContents(path, *theirs));
    if (is_back) return Conflict(path, kNoOneBase);
    if (*theirs == *base) return Add({path, MergeStep::Verdict::kMerge, "", mode});
    if (*ours == *base) return Add({path, MergeStep::Verdict::kTheirs, "", mode});
    if (!IsText(*base) || !IsText(*ours) || !IsText(*theirs)) return Conflict(path, kBinary);
    texts_ += base->size() + ours->size() + theirs->size();
    if (texts_ > kMostTexts) return Conflict(path, kTooLarge);
    Add({path, MergeStep::Verdict::kMerge, "", mode, "", std::move(base), std::move(ours),
         std::move(theirs)});
  }

  // Where one side has renamed the file that the other one has changed: true, with the step.
  bool FollowRename(const std::string& path, const Spot& here, const Spot& there) {
    const bool is_ours = !here.node;  // who has renamed it
    const Spot& changed = is_ours ? there : here;
    if (!IsFile(changed)) return false;
    auto base = BaseContents(path);
    auto now = Contents(path, changed);
    if (!base || !now || base->empty()) return false;
    auto renamed = FindRenamed(*base, is_ours);
    if (!renamed) renamed = FindRenamedAndEdited(*base, is_ours);
    if (!renamed || (!is_ours && IsInTheWay(renamed->path))) return false;
    const auto& [to, mode, contents] = *renamed;
    const auto merged = is_ours ? MergedMode(BaseMode(path), mode, changed.node->mode)
                                : MergedMode(BaseMode(path), changed.node->mode, mode);
    const bool is_text = IsText(*base) && IsText(*now) && IsText(contents);
    if (!merged || (contents != *base && !is_text)) return false;
    texts_ += base->size() + now->size() + contents.size();
    if (texts_ > kMostTexts) return false;
    MergeStep step{to, MergeStep::Verdict::kMerge, "", *merged};
    if (!is_ours) step.removed = path;
    step.base = std::move(base);
    step.ours = is_ours ? contents : *now;
    step.theirs = is_ours ? *now : contents;
    steps_.insert_or_assign(to, std::move(step));
    return true;
  }

  struct Renamed {
    std::string path;
    std::uint32_t mode = 0;
    std::string contents;
  };

  // The file of a side at a path, if this side has added it, the other one has not, and it is not
  // taken for another one that was renamed.
  std::optional<Renamed> AddedAt(const std::string& path, bool is_ours) {
    const auto known = steps_.find(path);
    const bool is_taken =
        known != steps_.end() && known->second.verdict == MergeStep::Verdict::kMerge;
    if (is_taken || BaseMode(path) != 0) return std::nullopt;
    const auto elsewhere = (is_ours ? theirs_at_ : ours_at_).At(path);
    if (!elsewhere || elsewhere.value().node) return std::nullopt;
    const auto spot = (is_ours ? ours_at_ : theirs_at_).At(path);
    if (!spot || !IsFile(spot.value())) return std::nullopt;
    auto contents = Contents(path, spot.value());
    if (!contents) return std::nullopt;
    return Renamed{path, spot.value().node->mode, std::move(*contents)};
  }

  // A file that this side has added with these contents.
  std::optional<Renamed> FindRenamed(const std::string& contents, bool is_ours) {
    const auto [first, last] = AddedBy(is_ours).equal_range(contents.size());
    for (auto at = first; at != last; ++at) {
      auto added = AddedAt(at->second, is_ours);
      if (added && added->contents == contents) return added;
    }
    return std::nullopt;
  }

  // The file that this side has added and that has most of these contents: at least half of them,
  // as for git.
  std::optional<Renamed> FindRenamedAndEdited(const std::string& contents, bool is_ours) {
    constexpr double kLeast = 0.5;
    if (!IsText(contents)) return std::nullopt;
    std::optional<Renamed> best;
    double most = kLeast;
    const auto& added = AddedBy(is_ours);
    const auto size = static_cast<double>(contents.size());
    const auto last = added.upper_bound(static_cast<std::uint64_t>(size / kLeast));
    for (auto at = added.lower_bound(static_cast<std::uint64_t>(size * kLeast)); at != last; ++at) {
      if (compared_ >= kMostCompared || IsStopped()) break;
      compared_ += kLookCosts + contents.size() + at->first;
      auto each = AddedAt(at->second, is_ours);
      if (!each || !IsText(each->contents)) continue;
      const double similarity = Similarity(contents, each->contents);
      if (similarity < most || (best && similarity == most)) continue;
      most = similarity;
      best = std::move(each);
    }
    return best;
  }

  // The files that a side has and the host has not, by their sizes; made when somebody asks.
  const std::multimap<std::uint64_t, std::string>& AddedBy(bool is_ours) {
    const MergeSide& side = is_ours ? ours_ : theirs_;
    auto& added = is_ours ? we_added_ : they_added_;
    if (added) return *added;
    added.emplace();
    for (const Change& change : side.changes) {
      const bool is_file = change.type == Change::Type::kFile && change.mode != 0;
      if (is_file && change.kind == Change::Kind::kAdded) added->emplace(change.size, change.path);
    }
    return *added;
  }

  // What becomes no directory must have nothing below it that stays.
  std::optional<Error> CheckDirectories(const std::set<std::string>& all) {
    for (auto& [path, step] : steps_) {
      if (step.verdict != MergeStep::Verdict::kTheirs) continue;
      const auto ours = ours_at_.At(path);
      if (!ours) return ours.error();
      const auto theirs = theirs_at_.At(path);
      if (!theirs) return theirs.error();
      const bool was_directory = ours.value().node && ours.value().node->is_directory();
      if (!was_directory || !theirs.value().node || theirs.value().node->is_directory()) continue;
      const std::string below = path + "/";
      for (auto at = all.lower_bound(below); at != all.end() && at->starts_with(below); ++at) {
        const auto spot = ours_at_.At(*at);
        if (!spot) return spot.error();
        const auto known = steps_.find(*at);
        const bool goes =
            known != steps_.end() && known->second.verdict == MergeStep::Verdict::kTheirs;
        if (spot.value().node && !goes) {
          step.verdict = MergeStep::Verdict::kConflict;
          step.reason = kNotEmpty;
          break;
        }
      }
    }
    return std::nullopt;
  }

  const MergeSide& ours_;
  const MergeSide& theirs_;
  const MergeBase& base_;
  SpotView ours_at_;
  SpotView theirs_at_;
  SpotView host_at_;
  ByPath our_changes_;
  ByPath their_changes_;
  std::optional<std::multimap<std::uint64_t, std::string>> we_added_;
  std::optional<std::multimap<std::uint64_t, std::string>> they_added_;
  std::map<std::string, MergeStep> steps_;
  std::uint64_t texts_ = 0;
  std::uint64_t compared_ = 0;  // bytes, to find renamed files
};

class Applier {
 public:
  Applier(const ScannedTree& theirs, int to, ScannedTree tree)
      : theirs_at_(theirs), to_(to), tree_(std::move(tree)) {}

  std::optional<Error> Run(const MergeRequest& request) {
    if (auto error = RemoveAll(request)) return error;
    for (const MergeRequest::Theirs& each : request.theirs)
      if (auto error = Put(each.path, each.mode)) return error;
    for (const MergeRequest::File& file : request.files)
      if (auto error = Write(file)) return error;
    held_.reset();
    // From the lowest up: what is made in one sets its times.
    for (auto each = directories_.rbegin(); each != directories_.rend(); ++each) {
      const auto directory = tree_.Open(InTree(each->first));
      if (!directory) return directory.error();
      const int failed = GiveAttributes(directory.value().descriptor(), each->second, false);
      if (failed != 0) return Failed(each->first, "chmod", failed);
    }
    return std::nullopt;
  }

 private:
  static Error Failed(const std::string& path, const char* call, int number) {
    return Error{ErrorCode::kSetup, path + ": " + call + ": " + std::strerror(number), ""};
  }

  // From the lowest up. A directory that is not empty stays.
  std::optional<Error> RemoveAll(const MergeRequest& request) {
    std::vector<std::string> gone = request.removed;
    for (const MergeRequest::Theirs& each : request.theirs) {
      const auto spot = theirs_at_.At(each.path);
      if (!spot) return spot.error();
      if (!spot.value().node) gone.push_back(each.path);
    }
    std::sort(gone.rbegin(), gone.rend());
    for (const std::string& path : gone)
      if (auto error = Remove(path, true)) return error;
    return std::nullopt;
  }

  std::optional<Error> Remove(const std::string& path, bool may_stay) {
    if (held_ && PathCovers(path, held_->path)) held_.reset();
    auto own = DuplicateOf(to_);
    if (!own) return own.error();
    const auto removed = RemoveEntry(Beneath::Of(std::move(*own)), path, false);
    if (removed) return std::nullopt;
    const FileError& why = removed.error();
    if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
    if (why.number == ENOENT || (may_stay && why.number == ENOTEMPTY)) return std::nullopt;
    return Failed(path, "rm", why.number);
  }

  std::optional<Error> Put(const std::string& path, std::uint32_t mode) {
    TRY_ASSIGN(const Spot theirs, theirs_at_.At(path));
    if (!theirs.node) return std::nullopt;
    Node like = *theirs.node;
    if (mode != 0) like.mode = mode;
    if (path == ".") return Note(path, like);
    TRY_ASSIGN(const auto into, ParentOf(path));
    if (!into) return std::nullopt;  // a command has removed it since, and what was in it
    const int at = into->descriptor();
    const std::string last(SplitPath(path).name);
    TRY_ASSIGN(const auto now, into->Look(last));
    const bool is_directory = now && now->is_directory();
    if (now && !(is_directory && like.is_directory())) {
      if (auto error = Remove(path, false)) return error;
    }
    if (like.is_directory()) {
      if (!is_directory && mkdirat(at, last.c_str(), S_IRWXU) != 0) {
        return Failed(path, "mkdir", errno);
      }
      return Note(path, like);
    }
    CopyProgress unheard;
    const auto copied =
        CopyEntry(*theirs.directory, last, at, last, path, {&unheard, nullptr, false});
    if (!copied) return copied.error();
    if (mode == 0 || !copied.value()) return std::nullopt;
    return fchmodat(at, last.c_str(), mode & kModeBits, 0) == 0
               ? std::nullopt
               : std::optional(Failed(path, "chmod", errno));
  }

  std::optional<Error> Note(const std::string& path, const Node& like) {
    directories_.insert_or_assign(path, like);
    return std::nullopt;
  }

  // The directory that a path is in, made as theirs if there is none; null: they have none either
  // by now. The last one stays open, for those asked for on end lie together.
  Result<std::shared_ptr<const ScannedDirectory>> ParentOf(const std::string& path) {
    const std::string parent(SplitPath(InTree(path)).parent);
    if (held_ && held_->path == parent) return held_->directory;
    held_.reset();  // what was opened for it is shut before
    TRY_ASSIGN(bool is_there, HasDirectory(parent));
    if (!is_there) {
      TRY(Put(parent, 0));
      TRY_ASSIGN(is_there, HasDirectory(parent));
      if (!is_there) return std::shared_ptr<const ScannedDirectory>();
    }
    held_.reset();
    TRY_ASSIGN(auto opened, tree_.OpenToChange(parent));
    held_ = Held{parent, std::make_shared<const ScannedDirectory>(std::move(opened))};
    return held_->directory;
  }

  Result<bool> HasDirectory(const std::string& path) const {
    TRY_ASSIGN(const Spot spot, SpotOf(tree_, path));
    return spot.node && spot.node->is_directory();
  }

  std::optional<Error> Write(const MergeRequest::File& file) {
    TRY_ASSIGN(const auto into, ParentOf(file.path));
    if (!into) return Failed(file.path, "open", ENOENT);
    const int at = into->descriptor();
    const std::string_view name = SplitPath(InTree(file.path)).name;
    TRY_ASSIGN(const auto now, into->Look(std::string(name)));
    const std::string last = name.empty() ? "." : std::string(name);
    if (file.contents) {
      // One of several names is a file of its own from now on.
      const bool is_own = now && now->is_file() && now->links == 1;
      if (now && !is_own) {
        if (auto error = Remove(file.path, false)) return error;
      }
      const std::uint32_t mode = is_own ? now->mode : 0;
      // One that its owner may not write to, until it gets its mode below.
      if (is_own && (mode & S_IWUSR) == 0 &&
          fchmodat(at, last.c_str(), (mode & kModeBits) | S_IWUSR, 0) != 0) {
        return Failed(file.path, "chmod", errno);
      }
      const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (is_own ? O_TRUNC : O_CREAT | O_EXCL);
      const Descriptor opened(openat(at, last.c_str(), flags, S_IRUSR | S_IWUSR));
      if (!opened.valid()) return Failed(file.path, "open", errno);
      const std::string_view bytes(reinterpret_cast<const char*>(file.contents->data()),
                                   file.contents->size());
      if (!WriteBytes(opened.get(), bytes)) return Failed(file.path, "write", errno);
    }
    if (fchmodat(at, last.c_str(), file.mode & kModeBits, 0) == 0) return std::nullopt;
    return Failed(file.path, "chmod", errno);
  }

  struct Held {
    std::string path;
    std::shared_ptr<const ScannedDirectory> directory;
  };

  SpotView theirs_at_;
  int to_;
  ScannedTree tree_;
  std::optional<Held> held_;
  std::map<std::string, Node> directories_;
};

}  // namespace

Result<MergePlan> PlanMergeOf(const MergeSide& ours, const MergeSide& theirs, const MergeBase& base,
                              const ScannedTree& host, const PathFilter& paths, bool takes_all) {
  return Planner(ours, theirs, base, host).Run(paths, takes_all);
}

std::optional<Error> ApplyMerge(const MergeRequest& request, const ScannedTree& theirs, int to) {
  auto own = DuplicateOf(to);
  if (!own) return own.error();
  return Applier(theirs, to, ScannedTree(std::move(*own), true)).Run(request);
}

}  // namespace native_runner
