#include "workspace/commit/plan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervise/os/descriptor.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/same_file.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/staging.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {
namespace {

constexpr mode_t kToChange = S_IWUSR | S_IXUSR;

// Returns the change's path in a tree, whose top is the workspace.
std::string PathOf(const Change& change) {
  return change.path == "." ? "" : change.path;
}

Error Failed(const std::string& path, const char* call, int number) {
  return Error{ErrorCode::kSetup, path + ": " + call + ": " + std::strerror(number), ""};
}

Error Vanished(const std::string& path) {
  return Error{ErrorCode::kSetup, path + " was changed while it was to be committed", ""};
}

class Planner {
 public:
  Planner(const Sites& sites, const PlanOptions& options)
      : sites_(sites),
        view_(sites),
        options_(options),
        staging_(sites.upper, sites.backup.root()) {}

  Result<std::vector<Operation>> Plan(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      if (error_) break;
      Verify(change);
    }
    for (auto change = changes.rbegin(); change != changes.rend() && !error_; ++change)
      Remove(*change);
    for (const Change& change : changes) {
      if (error_) break;
      Put(change);
    }
    if (!error_ && !sites_.kept) error_ = staging_.Flush();  // else CommitDirectory::FlushBackup
    if (error_) return *error_;
    std::vector<Operation> operations = Openings();
    operations.insert(operations.end(), operations_.begin(), operations_.end());
    for (auto each = directories_.rbegin(); each != directories_.rend(); ++each)
      Finish(each->first, each->second, &operations);
    return operations;
  }

 private:
  // Mode and owner of a directory that the host has, or is going to have.
  struct Directory {
    HostFile before;  // while its names are changed
    HostFile after;
    bool is_made = false;
    bool is_removed = false;
    bool is_opened = false;  // gets another mode before any other operation
  };

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  std::optional<Node> Look(Site site, const std::string& path) {
    const auto looked = Taken(view_.Look({site, path}));
    return looked ? *looked : std::nullopt;
  }

  // Returns a file that must exist.
  std::optional<Node> Expect(Site site, const std::string& path) {
    auto node = Look(site, path);
    if (!node && !error_) error_ = Vanished(path);
    return node;
  }

  // Returns the transaction's file with the attributes that it is going to have on the host.
  std::optional<Node> ExpectMine(const std::string& path) {
    auto node = Expect(Site::kUpper, path);
    if (!node || options_.copies == nullptr) return node;
    const std::string shown = Shown({Site::kUpper, path});
    const auto copy = options_.copies->copies.find(shown);
    const auto known = options_.ledger->baselines.find(shown);
    if (copy == options_.copies->copies.end() || known == options_.ledger->baselines.end() ||
        !known->second.host) {
      return node;
    }
    static_cast<HostFile&>(*node) = AsOnHost(*node, &copy->second, &*known->second.host);
    return node;
  }

  // True if a descriptor that a command has passed on could still lead to the transaction's files.
  bool MayBeWritten() const {
    return options_.use == UpperUse::kCopy || options_.has_earlier_overlay;
  }

  bool IsChosen(const HostFile& mine, const Change& change) const {
    return !MayBeWritten() || (mine.inode == change.inode && mine.changed_ns == change.changed_ns);
  }

  // Refuses a file or link that was written to since it was chosen.
  void Verify(const Change& change) {
    if (!MayBeWritten() || change.mode == 0 || IsDirectory(change.mode)) return;
    const auto mine = Expect(Site::kUpper, PathOf(change));
    if (mine && !IsChosen(*mine, change)) error_ = Vanished(change.path);
  }

  SitePath Backup() { return {Site::kBackup, std::to_string(next_++)}; }

  void Move(SitePath from, SitePath to, const HostFile& file) {
    operations_.push_back({Operation::Kind::kMove, std::move(from), std::move(to), file, {}});
  }

  // Notes a directory of the host's in which names are going to be changed.
  void Touch(const std::string& path) {
    const auto known = directories_.find(path);
    if (known != directories_.end() && known->second.is_made) return;
    if (known == directories_.end() && !CheckMount(path)) return;
    const auto host =
        known == directories_.end() ? Expect(Site::kHost, path) : std::optional<Node>();
    if (error_) return;
    Directory& directory = directories_[path];
    if (host) directory.before = directory.after = *host;
    const bool is_shut = (directory.before.mode & kToChange) != kToChange;
    if (is_shut && geteuid() != 0 && directory.before.uid == geteuid()) {
      directory.is_opened = true;
    }
  }

  // Refuses another file system that is mounted in the workspace: no file can be renamed to it,
  // though a copy has its files.
  bool CheckMount(const std::string& path) {
    if (options_.use != UpperUse::kCopy) return true;
    const auto opened = Taken(sites_.host.OpenIfThere(path));
    if (!opened || *opened) return opened.has_value();
    const auto entered =
        OpenBeneath(sites_.host.root(), path, O_PATH | O_DIRECTORY, "open", Mounts::kEnter);
    if (!entered) return true;  // the next look reports it
    error_ = Error{ErrorCode::kSetup,
                   Shown({Site::kHost, path}) +
                       " is on another file system, which is mounted in the workspace: what is in "
                       "it can't be committed",
                   "commit other paths, or open a transaction for that directory"};
    return false;
  }

  void TouchParent(const std::string& path) { Touch(std::string(SplitPath(path).parent)); }

  static bool IsDirectory(std::uint32_t mode) { return S_ISDIR(mode); }

  // Moves the host's file to the backup if it is removed, or changes between file and directory.
  void Remove(const Change& change) {
    const bool becomes_other =
        change.mode != 0 && IsDirectory(change.mode) != IsDirectory(change.previous_mode);
    if (change.previous_mode == 0 || (change.mode != 0 && !becomes_other)) return;
    const std::string path = PathOf(change);
    TouchParent(path);
    const auto host = error_ ? std::nullopt : Expect(Site::kHost, path);
    if (!host) return;
    if (change.mode == 0) {
      const auto upper = Look(Site::kUpper, path);
      if (upper && upper->is_whiteout()) Leave(path, *upper);
    }
    if (host->is_directory()) {
      Touch(path);
      // With another mode its owner can rename it, which writes to "..".
      directories_[path].is_removed = true;
    }
    Move({Site::kHost, path}, Backup(), *host);
  }

  void Put(const Change& change) {
    if (change.mode == 0) return;
    const std::string path = PathOf(change);
    const bool was_directory = IsDirectory(change.previous_mode);
    if (!IsDirectory(change.mode)) {
      PutFile(change, change.previous_mode != 0 && !was_directory);
    } else if (change.previous_mode != 0 && was_directory) {
      SetAttributes(path);
    } else {
      MakeDirectory(path);
    }
  }

  // Moves the transaction's file out of its tree.
  void Leave(const std::string& path, const HostFile& mine) {
    const Site site = options_.use == UpperUse::kMove ? Site::kBackup : Site::kUpperBackup;
    Move({Site::kUpper, path}, {site, std::to_string(next_++)}, mine);
  }

  void PutFile(const Change& change, bool is_there) {
    const std::string path = PathOf(change);
    TouchParent(path);
    if (error_) return;
    const auto* given = Given(path);
    if (given != nullptr || options_.use != UpperUse::kMove || options_.has_earlier_overlay) {
      return PutStaged(change, is_there, given);
    }
    const auto mine = Expect(Site::kUpper, path);
    const auto directory = mine ? Taken(view_.ParentOf({Site::kUpper, path}))
                                : std::optional<const ScannedDirectory*>();
    if (!directory) return;
    const auto movable = Taken(MakeMovable(**directory, std::string(SplitPath(path).name), *mine));
    if (!movable) return;
    if (!*movable) return PutStaged(change, is_there, nullptr);  // it stays the transaction's
    if (IsSeen(change, {Site::kUpper, path})) PutMoved(path, **movable, is_there);
  }

  // Refuses a file that has other contents than those that were seen.
  bool IsSeen(const Change& change, const SitePath& place) {
    if (change.digest.empty() || change.type != Change::Type::kFile) return true;
    const auto directory = Taken(view_.ParentOf(place));
    if (!directory) return false;
    const std::string name(SplitPath(place.path).name);
    if (*directory != nullptr && FileDigest(**directory, name) == change.digest) return true;
    error_ = Vanished(change.path);
    return false;
  }

  const std::vector<std::uint8_t>* Given(const std::string& path) const {
    if (options_.contents == nullptr) return nullptr;
    const auto found = options_.contents->find(path);
    return found == options_.contents->end() ? nullptr : &found->second;
  }

  void PutMoved(const std::string& path, const HostFile& mine, bool is_there) {
    if (!is_there) return Move({Site::kUpper, path}, {Site::kHost, path}, mine);
    const auto host = Expect(Site::kHost, path);
    if (!host) return;
    const SitePath backup = Backup();
    Move({Site::kUpper, path}, backup, mine);
    operations_.push_back({Operation::Kind::kExchange, backup, {Site::kHost, path}, mine, *host});
  }

  void PutStaged(const Change& change, bool is_there, const std::vector<std::uint8_t>* given) {
    const std::string path = PathOf(change);
    const auto like = ExpectMine(path);
    if (!like) return;
    // The copy of another name may have changed the ctime of this one (LetIn).
    if (like->links == 1 && !IsChosen(*like, change)) {
      error_ = Vanished(path);
      return;
    }
    const SitePath backup = Backup();
    const auto staged =
        Taken(given == nullptr ? staging_.Copy(path, *like, backup.path)
                               : staging_.CopyWith(*given, path, *like, backup.path));
    if (!staged || (given == nullptr && !IsSeen(change, backup))) return;
    const auto mine = Expect(Site::kUpper, path);
    if (!mine) return;
    if (!is_there) {
      Move(backup, {Site::kHost, path}, *staged);
    } else if (const auto host = Expect(Site::kHost, path)) {
      operations_.push_back(
          {Operation::Kind::kExchange, backup, {Site::kHost, path}, *staged, *host});
    }
    if (given == nullptr && options_.use != UpperUse::kCopy) Leave(path, *mine);
  }

  void SetAttributes(const std::string& path) {
    Touch(path);
    const auto mine = ExpectMine(path);
    if (!mine) return;
    if (!CheckAccessLists(path)) return;
    HostFile& after = directories_[path].after;
    after.mode = mine->mode;
    after.uid = mine->uid;
    after.gid = mine->gid;
  }

  // Refuses another access control list for a directory of the host's: it would keep its own, or
  // none, and its group would get what the mask of the other one permits.
  bool CheckAccessLists(const std::string& path) {
    const auto mine = Taken(sites_.upper.Open(path));
    if (!mine) return false;
    const auto host = OpenBeneath(sites_.host.root(), path, O_PATH | O_DIRECTORY, "open");
    if (!host) return true;  // the next look reports it
    if (HaveAlikeAccessLists(mine->descriptor(), host.value().get())) return true;
    error_ = Error{ErrorCode::kSetup,
                   Shown({Site::kHost, path}) +
                       " has another access control list than on the host, which a commit does not "
                       "give to a directory that is there",
                   "set it on the host with setfacl(1), or commit other paths"};
    return false;
  }

  void MakeDirectory(const std::string& path) {
    TouchParent(path);
    const auto mine = ExpectMine(path);
    if (!mine) return;
    const SitePath backup = Backup();
    if (auto failed = Make(backup.path, path, *mine)) {
      error_ = std::move(failed);
      return;
    }
    const auto made = Expect(Site::kBackup, backup.path);
    if (!made) return;
    Move(backup, {Site::kHost, path}, *made);
    Directory directory;
    directory.before = directory.after = *made;
    directory.after.mode = mine->mode;
    directory.after.modified_ns = mine->modified_ns;
    directory.is_made = true;
    directories_[path] = directory;
  }

  // Makes a directory with its final attributes, except for a mode that would keep its owner out.
  std::optional<Error> Make(const std::string& name, const std::string& path, const Node& like) {
    const int backup = sites_.backup.root();
    if (mkdirat(backup, name.c_str(), S_IRWXU) != 0) return Failed(path, "mkdir", errno);
    const Descriptor made(
        openat(backup, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made.valid()) return Failed(path, "open", errno);
    const auto upper = sites_.upper.Open(path);
    if (!upper) return upper.error();
    if (!CopyAttributes(upper.value().descriptor(), made.get())) {
      return Failed(path, "setxattr", errno);
    }
    const auto now = NodeOf(made.get());
    if (!now) return now.error();
    const bool is_other_owner = like.uid != now.value().uid || like.gid != now.value().gid;
    if (is_other_owner && fchown(made.get(), like.uid, like.gid) != 0) {
      return Failed(path, "chown", errno);
    }
    if (fchmod(made.get(), (like.mode & kModeBits) | S_IRWXU) != 0) {
      return Failed(path, "chmod", errno);
    }
    return std::nullopt;
  }

  static Operation Attributes(const std::string& path, const HostFile& from, const HostFile& to) {
    return {Operation::Kind::kAttributes, {Site::kHost, path}, {}, from, to};
  }

  static HostFile Opened(const HostFile& directory) {
    HostFile opened = directory;
    opened.mode |= S_IRWXU;
    return opened;
  }

  std::vector<Operation> Openings() const {
    std::vector<Operation> openings;
    for (const auto& [path, directory] : directories_) {
      if (!directory.is_opened) continue;
      openings.push_back(Attributes(path, directory.before, Opened(directory.before)));
    }
    return openings;
  }

  static void Finish(const std::string& path, const Directory& directory,
                     std::vector<Operation>* operations) {
    if (directory.is_removed && !directory.is_made) return;
    const HostFile now = directory.is_opened ? Opened(directory.before) : directory.before;
    // Each name that is moved into it sets its times.
    if (now.HasSameAttributes(directory.after) && !directory.is_made) return;
    operations->push_back(Attributes(path, now, directory.after));
  }

  const Sites& sites_;
  SitesView view_;
  const PlanOptions& options_;
  std::map<std::string, Directory> directories_;
  std::vector<Operation> operations_;
  std::uint64_t next_ = 0;
  Staging staging_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Operation>> PlanCommit(const Sites& sites, const std::vector<Change>& changes,
                                          const PlanOptions& options) {
  return Planner(sites, options).Plan(changes);
}

namespace {

constexpr const char* kOpaqueMark = "user.overlay.opaque";

class UndoPlanner {
 public:
  explicit UndoPlanner(const Sites& sites) : sites_(sites) {}

  Result<Journal> Plan(const Journal& done) {
    for (const Operation& operation : done.operations)
      takes_from_upper_ |= operation.from.site == Site::kUpper;
    for (const Operation& operation : done.operations)
      if (operation.kind == Operation::Kind::kMove && operation.from.site == Site::kHost) {
        restored_.insert(operation.from.path);
      }
    Journal undo;
    undo.kind = Journal::Kind::kUndo;
    for (auto operation = done.operations.rbegin(); operation != done.operations.rend();
         ++operation) {
      if (auto error = Add(InverseOf(*operation), &undo.operations)) return std::move(*error);
    }
    return undo;
  }

 private:
  std::optional<Error> Add(Operation inverse, std::vector<Operation>* operations) {
    const bool is_move = inverse.kind == Operation::Kind::kMove;
    if (is_move && inverse.to.site == Site::kUpper) {
      const auto has_newer = HasNewer(inverse.to.path);
      if (!has_newer) return has_newer.error();
      if (has_newer.value() && inverse.from.site != Site::kHost) return std::nullopt;
      if (has_newer.value()) inverse.to = Backup(Site::kBackup);
    }
    const bool restores_directory =
        is_move && inverse.to.site == Site::kHost && inverse.from_file.is_directory();
    if (restores_directory && takes_from_upper_) {
      if (auto error = Hide(inverse.to.path)) return error;
    }
    operations->push_back(inverse);
    const bool goes = is_move && inverse.from.site == Site::kHost;
    return goes ? DropWhiteout(inverse.from.path, operations) : std::nullopt;
  }

  // True if the upper directory has something of its own at a path, or above it hides what the host
  // has there.
  Result<bool> HasNewer(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    if (!parent_ || *parent_ != parent) {
      auto hides = Hides(parent);
      if (!hides) return hides;
      parent_ = parent;
      hides_ = hides.value();
    }
    if (hides_) return true;
    const auto now = sites_.Look({Site::kUpper, path});
    if (!now) return now.error();
    return now.value().has_value();
  }

  Result<bool> Hides(std::string_view directory) const {
    for (std::size_t end = 0; end < directory.size();) {
      end = std::min(directory.find('/', end + 1), directory.size());
      const std::string path(directory.substr(0, end));
      const auto now = sites_.Look({Site::kUpper, path});
      if (!now) return now.error();
      if (!now.value()) return false;
      if (!now.value()->is_directory()) return true;
      const auto opened = sites_.upper.Open(path);
      if (!opened) return opened.error();
      auto is_opaque = HasAttribute(opened.value().descriptor(), kOpaqueMark, "y");
      if (!is_opaque || is_opaque.value()) return is_opaque;
    }
    return false;
  }

  // A directory that commands have made where the commit had removed the host's is to show nothing
  // of that one. Until it is back, this changes nothing.
  std::optional<Error> Hide(const std::string& path) const {
    const auto there = sites_.upper.OpenIfThere(path);
    if (!there) return there.error();
    if (!there.value()) return std::nullopt;
    const auto directory = sites_.upper.OpenToChange(path);
    if (!directory) return directory.error();
    if (fsetxattr(directory.value().descriptor(), kOpaqueMark, "y", 1, 0) == 0) return std::nullopt;
    return SystemError("setxattr", errno);
  }

  // A whiteout of what was committed hides nothing any more: it would be a change if the host made
  // something there later.
  std::optional<Error> DropWhiteout(const std::string& path, std::vector<Operation>* operations) {
    if (restored_.contains(path)) return std::nullopt;
    const auto now = sites_.Look({Site::kUpper, path});
    if (!now) return now.error();
    if (!now.value() || !now.value()->is_whiteout()) return std::nullopt;
    const Site site = sites_.kept ? Site::kUpperBackup : Site::kBackup;  // of one file system
    operations->push_back(
        {Operation::Kind::kMove, {Site::kUpper, path}, Backup(site), *now.value(), {}});
    return std::nullopt;
  }

  SitePath Backup(Site site) { return {site, "undone-" + std::to_string(next_++)}; }

  const Sites& sites_;
  bool takes_from_upper_ = false;   // it is an overlay's, not a copy
  std::set<std::string> restored_;  // paths at which the host gets something back
  std::optional<std::string> parent_;
  bool hides_ = false;  // `parent_` does, or one above
  std::uint64_t next_ = 0;
};

}  // namespace

Result<Journal> PlanUndo(const Sites& sites, const Journal& done) {
  return UndoPlanner(sites).Plan(done);
}

}  // namespace native_runner
