#include "workspace/commit/baselines.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "policy/transaction/file_systems.h"
#include "workspace/changes/same_file.h"
#include "workspace/commit/commit_directory.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr const char* kTop = ".";
constexpr const char* kOpaque = "user.overlay.opaque";

class Look {
 public:
  Look(const ScannedTree& upper, const ScannedTree& lower, std::uint64_t since_ns, Ledger* ledger,
       std::set<std::string, std::less<>>* seen, const std::set<std::string, std::less<>>& unseen)
      : upper_(upper),
        lower_(lower),
        since_ns_(since_ns),
        ledger_(*ledger),
        seen_(seen),
        unseen_(unseen) {}

  Result<bool> Run() {
    NoteTop();
    while (!error_ && !waiting_.empty()) {
      const Place place = std::move(waiting_.back());
      waiting_.pop_back();
      LookInto(place);
    }
    if (error_) return std::move(*error_);
    if (is_whole_) ForgetShown();
    return is_whole_;
  }

 private:
  // A directory of the overlay's, or with `is_hidden` one of the host's that nobody sees.
  struct Place {
    std::string path;
    bool is_hiding = false;  // nothing of the host's is seen in it
    bool is_hidden = false;
  };

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void NoteTop() {
    const auto lower = Taken(lower_.Open(""));
    if (!lower) return;
    const auto host = Taken(lower->Look(""));
    if (!host || !*host) return;
    if (seen_ != nullptr) seen_->insert(kTop);
    if (ledger_.baselines.find(kTop) == ledger_.baselines.end()) {
      ledger_.baselines.emplace(kTop, Baseline{since_ns_, false, **host, {}});
    }
    waiting_.emplace_back();
  }

  void LookInto(Place place) {
    if (place.is_hidden) return LookBelow(place.path);
    const std::string& path = place.path;
    if (upper_.KeepsOut(path)) {
      is_whole_ = false;
      return;
    }
    const auto upper = Taken(upper_.OpenIfThere(path));
    if (!upper) return;
    if (!*upper) return;  // it has just gone
    const auto names = Taken((*upper)->Names());
    if (!names) return;
    if (!place.is_hiding) {
      const auto is_opaque = Taken(HasAttribute((*upper)->descriptor(), kOpaque, "y"));
      if (!is_opaque) return;
      place.is_hiding = *is_opaque;
    }
    if (names->empty() && !place.is_hiding) return;  // the host's may be one that can't be read
    const auto lower = Taken(lower_.OpenIfThere(path));
    if (!lower) return;
    if (!*lower) return;  // as its own baseline says
    for (const std::string& name : *names) {
      if (error_) return;
      LookAt(Below(path, name), name, place.is_hiding, **upper, **lower);
    }
    if (place.is_hiding) NoteFilesOf(path, **lower, *names);
  }

  // Once for each directory: what the host changes afterwards is no baseline.
  void LookBelow(const std::string& path) {
    const auto lower = Taken(lower_.OpenIfThere(path));
    if (lower && *lower) NoteFilesOf(path, **lower, {});
  }

  // What is shown again may be hidden another time.
  void ForgetShown() {
    std::erase_if(ledger_.hidden, [this](std::string_view path) {
      while (hidden_now_.find(path) == hidden_now_.end()) {
        if (path.empty()) return true;
        path = SplitPath(path).parent;
      }
      return false;
    });
  }

  // `shown`: names, in order, that have baselines of their own.
  void NoteFilesOf(const std::string& path, const ScannedDirectory& lower,
                   const std::vector<std::string>& shown) {
    hidden_now_.insert(path);
    if (!ledger_.hidden.insert(path).second) return;
    const auto names = Taken(lower.Names());
    if (!names) return;
    for (const std::string& name : *names) {
      if (error_ || std::binary_search(shown.begin(), shown.end(), name)) continue;
      const auto host = Taken(lower.Look(name));
      if (!host || !*host) continue;
      const std::string below = Below(path, name);
      if ((*host)->is_directory()) {
        waiting_.push_back({below, false, true});
        continue;
      }
      if (ledger_.baselines.find(below) != ledger_.baselines.end()) continue;
      const auto contents = ContentsToNote(lower, name, **host);
      if (IsStopped()) error_ = Error{ErrorCode::kClosed, "the transaction was closed", ""};
      if (error_ || !contents) continue;
      const std::uint64_t since = SinceAbove(ledger_, below);
      ledger_.baselines.emplace(
          below, Baseline{since, MayBeSince((*host)->changed_ns, since), **host, contents});
    }
  }

  void LookAt(std::string path, const std::string& name, bool is_hiding,
              const ScannedDirectory& upper, const ScannedDirectory& lower) {
    const auto looked = Taken(upper.Look(name));
    if (!looked || !*looked) return;
    const Node& now = **looked;
    if (seen_ != nullptr) seen_->insert(path);
    if (ledger_.baselines.find(path) == ledger_.baselines.end()) {
      const auto host = Taken(lower.Look(name));
      if (!host) return;
      // After the name: what has just gone has changed it by now.
      const auto parent = Taken(lower.Look(""));
      if (!parent) return;
      // Where a directory of the commands hides the host's, they have seen nothing of it since.
      const std::uint64_t since = is_hiding ? SinceAbove(ledger_, path) : since_ns_;
      const bool parent_changed = is_hiding ? NamesChanged(path, *parent)
                                            : !*parent || MayBeSince((*parent)->changed_ns, since);
      Note(path, now, *host, is_hiding, parent_changed, lower, since);
    }
    if (now.is_directory()) {
      waiting_.push_back({std::move(path), is_hiding});
      return;
    }
    const auto known = ledger_.baselines.find(path);
    const bool hides_directory = known != ledger_.baselines.end() && known->second.host &&
                                 known->second.host->is_directory();
    if (hides_directory) waiting_.push_back({std::move(path), false, true});
  }

  static std::string Below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "/" + name;
  }

  // True if the host may have changed names in the directory of a path since commands first changed
  // it. `parent`: the host's directory as it is now.
  bool NamesChanged(const std::string& path, const std::optional<Node>& parent) const {
    const std::string_view above = SplitPath(path).parent;
    const auto known = ledger_.baselines.find(above.empty() ? kTop : above);
    return known == ledger_.baselines.end() || known->second.is_suspect ||
           HostHasChanged(known->second, parent, true);
  }

  void Note(const std::string& path, const Node& now, const std::optional<Node>& host,
            bool is_hiding, bool parent_changed, const ScannedDirectory& lower,
            std::uint64_t since_ns) {
    Baseline baseline;
    baseline.since_ns = since_ns;
    if (!host) {
      baseline.is_suspect = parent_changed && !now.is_whiteout();
    } else {
      baseline.host = *host;
      const bool is_merged = host->is_directory() && now.is_directory();
      // Of one that was hidden, new files below it may have names that the host has removed since.
      const bool is_as_it_was =
          is_merged && !is_hiding && !parent_changed && now.HasSameAttributes(*host);
      baseline.is_suspect = MayBeSince(host->changed_ns, since_ns) && !is_as_it_was;
      baseline.contents = ContentsToNote(lower, std::string(SplitPath(path).name), *host);
    }
    // One without the contents that it should have would hide the host's changes after a resume.
    if (IsStopped()) {
      error_ = Error{ErrorCode::kClosed, "the transaction was closed", ""};
      return;
    }
    baseline.is_suspect = baseline.is_suspect || unseen_.count(path) != 0;
    ledger_.baselines.emplace(path, baseline);
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  std::uint64_t since_ns_;
  Ledger& ledger_;
  std::set<std::string, std::less<>>* seen_;
  const std::set<std::string, std::less<>>& unseen_;
  std::vector<Place> waiting_;
  std::set<std::string, std::less<>> hidden_now_;
  bool is_whole_ = true;
  std::optional<Error> error_;
};

// Whether a path is in a directory of the upper tree: one path after the other, and those of a
// directory on end.
class Parents {
 public:
  explicit Parents(const ScannedTree& upper) : upper_(upper) {}

  Result<bool> HasParentOf(std::string_view path) {
    const std::string_view parent = SplitPath(path).parent;
    if (last_ && *last_ == parent) return is_there_;
    const auto opened = upper_.OpenIfThere(parent);
    if (!opened) return opened.error();
    last_ = parent;
    is_there_ = opened.value().has_value();
    return is_there_;
  }

 private:
  const ScannedTree& upper_;
  std::optional<std::string> last_;
  bool is_there_ = false;
};

}  // namespace

Result<bool> NoteHidden(const ScannedTree& upper, const ScannedTree& lower,
                        const std::vector<Change>& changes, Ledger* ledger) {
  bool has_noted = false;
  Parents parents(upper);
  for (const Change& change : changes) {
    if (change.mode != 0 || ledger->baselines.find(change.path) != ledger->baselines.end()) {
      continue;
    }
    const auto is_hidden = parents.HasParentOf(change.path);
    if (!is_hidden) return is_hidden.error();
    if (!is_hidden.value()) continue;
    const auto [parent, name] = SplitPath(change.path);
    const auto directory = lower.OpenIfThere(parent);
    if (!directory) return directory.error();
    Baseline baseline{SinceAbove(*ledger, change.path), true, {}, {}};
    if (directory.value()) {
      const auto host = directory.value()->Look(std::string(name));
      if (!host) return host.error();
      baseline.host = host.value();
      if (host.value()) {
        baseline.contents = ContentsToNote(*directory.value(), std::string(name), *host.value());
      }
    }
    const bool is_as_it_was =
        baseline.host && !MayBeSince(baseline.host->changed_ns, baseline.since_ns);
    baseline.is_suspect = change.conflict || !is_as_it_was;
    ledger->baselines.emplace(change.path, baseline);
    has_noted = true;
  }
  return has_noted;
}

Result<bool> NoteBaselines(const ScannedTree& upper, const ScannedTree& lower,
                           std::uint64_t since_ns, Ledger* ledger,
                           std::set<std::string, std::less<>>* seen,
                           const std::set<std::string, std::less<>>& unseen) {
  return Look(upper, lower, since_ns, ledger, seen, unseen).Run();
}

namespace {

// Of a directory, what else is in it is looked at by itself.
bool IsSame(const Node& now, const HostFile& known) {
  if (!known.is_directory()) return now.HasSameContent(known);
  return now.IsSameInode(known) && now.HasSameAttributes(known);
}

// What the plan took for the host's own at one of an operation's places.
const HostFile* PlannedAt(const Operation& operation, const SitePath& place) {
  if (place.site != Site::kHost) return nullptr;
  if (&place == &operation.from) return &operation.from_file;
  return operation.kind == Operation::Kind::kExchange ? &operation.to_file : nullptr;
}

// What the host has, with its contents where they are to be noted.
struct Looked {
  Node node;
  std::optional<std::uint64_t> contents;
};

std::optional<Looked> LookAt(const ScannedTree& lower, std::string_view path) {
  const auto [parent, name] = SplitPath(path);
  const auto directory = lower.OpenIfThere(parent);
  if (!directory || !directory.value()) return std::nullopt;
  const auto now = directory.value()->Look(std::string(name));
  if (!now || !now.value()) return std::nullopt;
  return Looked{*now.value(), ContentsToNote(*directory.value(), std::string(name), *now.value())};
}

void Follow(const ScannedTree& lower, const SitePath& place, const HostFile* planned,
            Ledger* ledger) {
  const std::string path = place.path.empty() ? "." : place.path;
  const auto found = ledger->baselines.find(path);
  const bool is_known = found != ledger->baselines.end();
  if (is_known ? !found->second.host : planned == nullptr) return;
  const auto now = LookAt(lower, place.path);
  if (!now || !IsSame(now->node, is_known ? *found->second.host : *planned)) return;
  if (!is_known) {
    const std::uint64_t since = SinceAbove(*ledger, path);
    ledger->baselines.emplace(path, Baseline{since, false, now->node, now->contents});
    return;
  }
  // Contents that were noted before stay: the host may have changed them since.
  found->second.host = now->node;
  if (!found->second.contents) found->second.contents = now->contents;
}

void FollowDirectory(const ScannedTree& lower, const std::string& path, Ledger* ledger) {
  const auto known = ledger->baselines.find(path.empty() ? "." : path);
  if (known == ledger->baselines.end() || !known->second.host) return;
  HostFile& directory = *known->second.host;
  const auto now = LookAt(lower, path);
  if (now && directory.is_directory() && IsSame(now->node, directory)) directory = now->node;
}

}  // namespace

namespace {

// Returns the host's directories in which operations have changed names; "" is the workspace.
std::set<std::string> ParentsOf(const std::vector<Operation>& touched) {
  std::set<std::string> parents;
  for (const Operation& operation : touched) {
    for (const SitePath* place : {&operation.from, &operation.to}) {
      if (place->site != Site::kHost || place->path.empty()) continue;
      parents.emplace(SplitPath(place->path).parent);
    }
  }
  return parents;
}

}  // namespace

void FollowDirectories(const ScannedTree& lower, const std::vector<Operation>& touched,
                       Ledger* ledger) {
  for (const std::string& parent : ParentsOf(touched))
    FollowDirectory(lower, parent, ledger);
}

void RestartDirectories(const ScannedTree& upper, const std::vector<Operation>& touched,
                        std::uint64_t since_ns, Ledger* ledger) {
  for (const std::string& parent : ParentsOf(touched)) {
    const auto known = ledger->baselines.find(parent.empty() ? kTop : parent);
    if (known == ledger->baselines.end()) continue;
    const auto shown = upper.OpenIfThere(parent);
    if (shown && shown.value()) known->second.since_ns = since_ns;
  }
}

void AddEmptied(const Journal& plan, std::vector<Operation>* begun) {
  std::set<std::string> parents;
  for (const Operation& operation : *begun) {
    if (operation.from.site != Site::kHost) continue;
    parents.emplace(SplitPath(operation.from.path).parent);
  }
  for (const Operation& operation : plan.operations) {
    const bool is_removal =
        operation.kind == Operation::Kind::kMove && operation.from.site == Site::kHost;
    if (is_removal && parents.count(operation.from.path) != 0) begun->push_back(operation);
  }
}

void FollowTakenBack(const ScannedTree& lower, const std::vector<Operation>& taken_back,
                     Ledger* ledger) {
  for (const Operation& operation : taken_back) {
    for (const SitePath* place : {&operation.from, &operation.to}) {
      if (place->site != Site::kHost && place->site != Site::kUpper) continue;
      Follow(lower, *place, PlannedAt(operation, *place), ledger);
    }
  }
  FollowDirectories(lower, taken_back, ledger);
}

Left LeftBy(const std::vector<Operation>& operations) {
  Left left;
  for (const Operation& operation : operations) {
    const bool is_attributes = operation.kind == Operation::Kind::kAttributes;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.from.site == Site::kHost) {
      left[Shown(operation.from)] = std::nullopt;
    }
    if (is_attributes) {
      left[Shown(operation.from)] = operation.to_file;
    } else if (operation.to.site == Site::kHost) {
      left[Shown(operation.to)] = operation.from_file;
    }
  }
  return left;
}

bool IsLeft(const std::optional<HostFile>& left, const std::optional<HostFile>& now) {
  if (!left || !now) return !left && !now;
  return left->is_directory() ? now->IsSameInode(*left) : now->HasSameContent(*left);
}

void SuspectOthers(const std::vector<Operation>& touched, Ledger* ledger) {
  for (const auto& [path, left] : LeftBy(touched)) {
    const auto known = ledger->baselines.find(path);
    if (known != ledger->baselines.end() && !IsLeft(left, known->second.host)) {
      known->second.is_suspect = true;
    }
  }
}

void NoteRestored(const ScannedTree& upper, const ScannedTree& lower,
                  const std::vector<Operation>& touched, std::uint64_t since_ns,
                  const std::set<std::string, std::less<>>& seen, Ledger* ledger) {
  for (const auto& [path, left] : LeftBy(touched)) {
    const bool is_known = ledger->baselines.find(path) != ledger->baselines.end();
    if (!left || is_known || !IsHiddenFromAbove(upper, path, seen)) continue;
    const auto now = LookAt(lower, path);
    if (!now) continue;
    ledger->baselines.emplace(
        path, Baseline{since_ns, !IsLeft(left, now->node), now->node, now->contents});
  }
}

void FollowLeft(const ScannedTree& lower, const std::vector<Operation>& touched,
                const std::vector<Change>& left, Ledger* ledger) {
  std::set<std::string_view> parents;
  for (const Operation& operation : touched)
    if (operation.from.site == Site::kHost) parents.insert(SplitPath(operation.from.path).parent);
  for (const Change& change : left) {
    const bool is_touched = change.mode == 0 && parents.count(change.path) != 0;
    const bool is_known = ledger->baselines.find(change.path) != ledger->baselines.end();
    if (change.conflict || !is_touched || is_known) continue;
    const auto now = LookAt(lower, change.path);
    if (!now || now->node.mode != change.previous_mode) continue;
    const std::uint64_t since = SinceAbove(*ledger, change.path);
    ledger->baselines.emplace(change.path, Baseline{since, false, now->node, now->contents});
  }
}

bool IsHiddenFromAbove(const ScannedTree& upper, std::string_view path,
                       const std::set<std::string, std::less<>>& seen) {
  while (!path.empty()) {
    path = SplitPath(path).parent;
    if (seen.find(path) == seen.end()) continue;
    const auto directory = upper.OpenIfThere(path);
    if (!directory || !directory.value()) return true;
    // Overlayfs marks the uppermost of those that hide the host's.
    const auto is_opaque = HasAttribute(directory.value()->descriptor(), kOpaque, "y");
    if (!is_opaque || is_opaque.value()) return true;
  }
  return false;
}

namespace {

constexpr const char* kOrigin = "user.overlay.origin";

Error Failed(const std::string& what, const char* call) {
  return Error{ErrorCode::kSetup, what + ": " + call + ": " + std::strerror(errno), ""};
}

class Normalizer {
 public:
  Normalizer(const ScannedTree& upper, const ScannedTree& lower, const Ledger* known)
      : upper_(upper), lower_(lower), known_(known) {}

  std::optional<Error> Run() {
    waiting_.push_back({"", false});
    while (!error_ && !waiting_.empty()) {
      const Place place = std::move(waiting_.back());
      waiting_.pop_back();
      Normalize(place);
    }
    return std::move(error_);
  }

 private:
  struct Place {
    std::string path;
    bool is_hiding;  // it is opaque
  };

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void Normalize(const Place& place) {
    const auto upper =
        Taken(place.is_hiding ? upper_.OpenToChange(place.path) : upper_.Open(place.path));
    if (!upper) return;
    const auto has_mark = Taken(HasAttribute(upper->descriptor(), kOpaque, "y"));
    if (!has_mark) return;
    const bool is_opaque = *has_mark;
    if (is_opaque && !place.is_hiding) {
      waiting_.push_back({place.path, true});  // to be changed
      return;
    }
    const auto entries = Taken(upper->Entries());
    if (!entries) return;
    const auto directories = DirectoriesOf(*upper, *entries);
    // One that could not be looked at must not come to show what it hides.
    if (error_) return;
    if (is_opaque && !HideByName(place.path, *upper, *entries)) return;
    // Those below must hide by themselves before this one no longer does for them.
    for (const std::string& name : directories) {
      std::string path = place.path.empty() ? name : place.path + "/" + name;
      if (is_opaque && !MakeOpaque(path)) return;
      waiting_.push_back({std::move(path), false});
    }
    if (is_opaque && fremovexattr(upper->descriptor(), kOpaque) != 0) {
      error_ = Failed(place.path, "removexattr");
    }
  }

  std::vector<std::string> DirectoriesOf(const ScannedDirectory& upper,
                                         const std::vector<NamedType>& entries) {
    std::vector<std::string> directories;
    for (const auto& [name, type] : entries) {
      bool is_directory = type == DT_DIR;
      if (type == DT_UNKNOWN) {
        const auto now = Taken(upper.Look(name));
        is_directory = now && *now && (*now)->is_directory();
      }
      if (is_directory) directories.push_back(name);
    }
    return directories;
  }

  bool HideByName(const std::string& path, const ScannedDirectory& upper,
                  const std::vector<NamedType>& shown) {
    const auto lower = Taken(lower_.OpenIfThere(path));
    if (!lower) return false;
    if (!*lower) return true;
    const auto names = Taken((*lower)->Names());
    if (!names) return false;
    for (const std::string& name : *names) {
      const auto found = std::lower_bound(
          shown.begin(), shown.end(), name,
          [](const NamedType& entry, const std::string& wanted) { return entry.name < wanted; });
      if (found != shown.end() && found->name == name) continue;
      if (!IsKnown(path.empty() ? name : path + "/" + name)) continue;
      if (mknodat(upper.descriptor(), name.c_str(), S_IFCHR, 0) != 0 && errno != EEXIST) {
        error_ = Failed(path, "mknod of a whiteout");
        return false;
      }
    }
    return true;
  }

  bool IsKnown(const std::string& path) const {
    return known_ == nullptr || known_->baselines.find(path) != known_->baselines.end();
  }

  bool MakeOpaque(const std::string& path) {
    const auto directory = Taken(upper_.OpenToChange(path));
    if (!directory) return false;
    if (fsetxattr(directory->descriptor(), kOpaque, "y", 1, 0) == 0) return true;
    error_ = Failed(path, "setxattr");
    return false;
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  const Ledger* known_;
  std::vector<Place> waiting_;
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> NormalizeUpper(const ScannedTree& upper, const ScannedTree& lower,
                                    const Ledger* known) {
  return Normalizer(upper, lower, known).Run();
}

std::optional<Error> ForgetOrigin(const ScannedTree& upper, const std::string& path) {
  const auto there = upper.OpenIfThere(path);
  if (!there) return there.error();
  if (!there.value()) return std::nullopt;
  const auto has_origin = HasAttribute(there.value()->descriptor(), kOrigin);
  if (!has_origin) return has_origin.error();
  if (!has_origin.value()) return std::nullopt;
  const auto directory = upper.OpenToChange(path);
  if (!directory) return directory.error();
  if (fremovexattr(directory.value().descriptor(), kOrigin) == 0) return std::nullopt;
  return Failed(path, "removexattr");
}

}  // namespace native_runner
