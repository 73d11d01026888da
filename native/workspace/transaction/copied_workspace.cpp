#include "workspace/transaction/copied_workspace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "policy/transaction/file_systems.h"
#include "policy/transaction/journal.h"
#include "workspace/changes/same_file.h"
#include "workspace/commit/baselines.h"
#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostPaths = 1'000'000;
constexpr std::uint64_t kSmall = 4'096;  // a file system may keep so much in no block of its own
constexpr const char* kTop = ".";

std::string Shown(const std::string& path) {
  return path.empty() ? kTop : path;
}

class Copier {
 public:
  Copier(const ScannedTree& from, int to, std::uint64_t most_bytes, CopyProgress* progress)
      : from_(from), to_(to), most_bytes_(most_bytes), progress_(progress) {}

  Result<CopiedTree> Run() {
    tree_.ledger.looked_ns = since_ns_ = WaitForTickOf(from_.root());
    AddDirectory("", Taken(LookPast("")));
    while (!error_ && !waiting_.empty()) {
      const std::string path = std::move(waiting_.back());
      waiting_.pop_back();
      CopyDirectory(path);
    }
    FinishDirectories();
    FinishLinked();
    if (error_) return *error_;
    return std::move(tree_);
  }

 private:
  struct Directory {
    std::string path;
    Node original;
  };

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void Fail(const std::string& path, const char* call, int number) {
    if (error_) return;
    error_ = Error{ErrorCode::kSetup,
                   Shown(path) + " can't be copied: " + call + ": " + std::strerror(number), ""};
  }

  // A directory that can't be read.
  void Refuse(const std::string& path, const Error& why) {
    error_ = Error{ErrorCode::kUnavailable, Shown(path) + " can't be copied: " + why.message, ""};
  }

  // A directory of the host's once a name more or less in it can be told by its ctime.
  Result<std::optional<Node>> LookPast(const std::string& path) const {
    const auto [parent, name] = SplitPath(path);
    const auto directory = from_.OpenIfThere(parent);
    if (!directory) return directory.error();
    if (!directory.value()) return std::optional<Node>();
    auto node = directory.value()->Look(std::string(name));
    if (!node || !*node || !MayBeSince((*node)->changed_ns, FileClock())) return node;
    WaitUntilPast((*node)->changed_ns);
    return directory.value()->Look(std::string(name));
  }

  void AddDirectory(const std::string& path, const std::optional<std::optional<Node>>& looked) {
    if (!looked || !*looked || !(*looked)->is_directory()) return;
    Note(path, **looked, HostFile(), {});
    directories_.push_back({path, **looked});
    waiting_.push_back(path);
  }

  void Note(const std::string& path, const Node& original, const HostFile& copy,
            const std::optional<std::uint64_t>& contents) {
    tree_.ledger.baselines[Shown(path)] = Baseline{since_ns_, false, original, contents};
    tree_.manifest.copies[Shown(path)] = copy;
    if (tree_.manifest.copies.size() <= kMostPaths || error_) return;
    error_ = Error{ErrorCode::kSetup, "the workspace has more than a million files", ""};
  }

  Descriptor OpenCopy(const std::string& path) {
    auto opened = OpenBeneath(to_, path, O_RDONLY | O_DIRECTORY, "open");
    if (opened) return std::move(*opened);
    Fail(path, "open", opened.error().number);
    return Descriptor();
  }

  void CopyDirectory(const std::string& path) {
    const auto opened = from_.OpenIfThere(path);
    if (!opened) return Refuse(path, opened.error());
    if (!opened.value()) return;  // it has just gone
    const ScannedDirectory& from = *opened.value();
    const auto names = from.Names();
    if (!names) return Refuse(path, names.error());
    const Descriptor to = OpenCopy(path);
    if (!to.valid()) return;
    if (!CopyAttributes(from.descriptor(), to.get())) return Fail(path, "setxattr", errno);
    for (const std::string& name : names.value()) {
      if (error_) return;
      const std::string below = path.empty() ? name : path + "/" + name;
      if (!IsBackupPath(below)) CopyName(from, name, to.get(), below);
    }
  }

  void CopyName(const ScannedDirectory& from, const std::string& name, int to,
                const std::string& path) {
    const auto looked = Taken(from.Look(name));
    if (!looked || !*looked) return;
    const Node& node = **looked;
    if (progress_->is_stopped) {
      error_ = Error{ErrorCode::kClosed, "copying was stopped", ""};
    } else if (node.is_directory()) {
      if (mkdirat(to, name.c_str(), S_IRWXU) != 0) return Fail(path, "mkdir", errno);
      AddDirectory(path, Taken(LookPast(path)));
    } else if (node.links == 1 || !LinkTo(node, to, name, path)) {
      CopyFile(from, node, to, path);
    }
  }

  // One that was copied under another name. False: it was not.
  bool LinkTo(const Node& node, int to, const std::string& name, const std::string& path) {
    const auto known = linked_.find({node.device, node.inode});
    if (known == linked_.end()) return false;
    // What the host has changed since is another file by now.
    const Baseline& baseline = tree_.ledger.baselines[known->second.front()];
    if (baseline.host != static_cast<const HostFile&>(node)) return false;
    const auto copy = OpenBeneath(to_, known->second.front(), O_PATH, "open");
    if (!copy || linkat(AT_FDCWD, DescriptorPath(copy.value().get()).c_str(), to, name.c_str(),
                        AT_SYMLINK_FOLLOW) != 0) {
      return false;
    }
    ++progress_->files;
    known->second.push_back(path);
    Note(path, node, HostFile(), baseline.contents);
    return true;
  }

  void CopyFile(const ScannedDirectory& from, const Node& node, int to, const std::string& path) {
    const std::uint64_t held = std::min(node.size, std::max(node.allocated, kSmall));
    bytes_ += node.is_file() ? held : 0;
    if (bytes_ > most_bytes_) {
      error_ = Error{ErrorCode::kUnavailable,
                     "the workspace has more than " + std::to_string(most_bytes_) +
                         " bytes (maxBytes); found so far: " + std::to_string(bytes_),
                     "raise maxBytes, or keep transactions where an overlay can be had"};
      return;
    }
    const std::string name(SplitPath(path).name);
    const auto copied = Taken(CopyEntry(from, name, to, name, path, {progress_, nullptr, true}));
    progress_->bytes = bytes_;
    progress_->Tell();
    if (!copied || !*copied) return;
    const CopiedEntry& entry = **copied;
    Note(path, entry.original, entry.copy, entry.contents);
    if (entry.original.links == 1) return;
    linked_[{entry.original.device, entry.original.inode}].push_back(path);
  }

  // From the lowest up: what is made in one sets its times.
  void FinishDirectories() {
    for (auto each = directories_.rbegin(); each != directories_.rend() && !error_; ++each) {
      const Descriptor copy = OpenCopy(each->path);
      if (!copy.valid()) return;
      if (const int error = GiveAttributes(copy.get(), each->original, false); error != 0) {
        return Fail(each->path, "chmod", error);
      }
      const auto node = Taken(NodeOf(copy.get()));
      if (node) tree_.manifest.copies[Shown(each->path)] = *node;
    }
  }

  // Each name more has set the ctime of all of them.
  void FinishLinked() {
    const ScannedTree copies(CopyOfTop(), true);
    for (const auto& [file, paths] : linked_) {
      for (const std::string& path : paths) {
        if (error_) return;
        const auto [parent, name] = SplitPath(path);
        const auto directory = Taken(copies.Open(parent));
        if (!directory) return;
        const auto node = Taken(directory->Look(std::string(name)));
        if (node && *node) tree_.manifest.copies[path] = **node;
      }
    }
  }

  Descriptor CopyOfTop() {
    auto top = Taken(DuplicateOf(to_));
    return top ? std::move(*top) : Descriptor();
  }

  const ScannedTree& from_;
  int to_;
  std::uint64_t most_bytes_;
  CopyProgress* progress_;
  std::uint64_t since_ns_ = 0;
  std::uint64_t bytes_ = 0;
  CopiedTree tree_;
  std::vector<std::string> waiting_;
  std::vector<Directory> directories_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::string>> linked_;
  std::optional<Error> error_;
};

}  // namespace

Result<CopiedTree> CopyTree(const ScannedTree& from, int to, std::uint64_t most_bytes,
                            CopyProgress* progress) {
  return Copier(from, to, most_bytes, progress).Run();
}

namespace {

// What the manifest has of a copy from now on: where it is not the same as the host's file, a copy
// that is like nothing there can be. Who can't give files away has an owner's to go by.
HostFile CopyNow(const Node& now, bool is_same) {
  if (is_same) return now;
  constexpr auto kNobody = std::numeric_limits<std::uint32_t>::max();
  const bool is_root = geteuid() == 0;
  HostFile copy;
  copy.uid = is_root ? kNobody : now.uid;
  copy.gid = is_root ? kNobody : now.gid;
  return copy;
}

}  // namespace

Result<CopiedWorkspace> CopiedWorkspace::Make(const TransactionDirectory& directory,
                                              const Workspace& workspace, std::uint64_t most_bytes,
                                              CopyProgress* progress, Ledger* ledger) {
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Descriptor host(openat(workspace.directory.get(), ".", kDirectory | O_NONBLOCK));
  if (!host.valid()) return SystemError("open of the workspace", errno);
  const auto upper = directory.OpenUpper();
  if (!upper) return upper.error();
  const Descriptor copy(openat(upper.value().get(), ".", kDirectory));
  if (!copy.valid()) return SystemError("open of a copy", errno);
  const ScannedTree from(std::move(host), false, Mounts::kEnter);
  auto tree = CopyTree(from, copy.get(), most_bytes, progress);
  if (!tree) return tree.error();
  WaitForTickOf(copy.get());  // whatever a command changes has another ctime
  if (auto error = directory.KeepManifest(tree->manifest)) return *error;
  if (auto error = directory.KeepLedger(tree->ledger)) return *error;
  if (auto error = directory.Complete()) return *error;
  *ledger = std::move(tree->ledger);
  return CopiedWorkspace(std::move(tree->manifest));
}

Result<CopiedWorkspace> CopiedWorkspace::Load(const TransactionDirectory& directory,
                                              const Ledger& ledger) {
  auto manifest = directory.LoadManifest();
  if (!manifest) return manifest.error();
  if (ledger.baselines.find(".") != ledger.baselines.end()) {
    return CopiedWorkspace(std::move(*manifest));
  }
  return Error{ErrorCode::kSetup, "the transaction's ledger is not whole", ""};
}

std::optional<Error> CopiedWorkspace::Follow(const CommitEnd& end, const ScannedTree& copy,
                                             const ScannedTree& host,
                                             const TransactionDirectory& directory,
                                             Ledger* ledger) {
  const std::uint64_t since = WaitForTickOf(host.root());
  SpotView host_at(host);
  SpotView copy_at(copy);
  for (const auto& [path, left] : LeftBy(end.touched)) {
    const auto theirs = host_at.At(path);
    if (!theirs) return theirs.error();
    const auto mine = copy_at.At(path);
    if (!mine) return mine.error();
    Baseline& baseline = ledger->baselines[path];
    HostFile& known = manifest_.copies[path];
    const std::optional<Node>& now = theirs.value().node;
    TwoNodes nodes = {mine.value().node, now};
    if (nodes.now && baseline.host) {
      static_cast<HostFile&>(*nodes.now) = AsOnHost(*nodes.now, &known, &*baseline.host);
    }
    const std::string name(SplitPath(InTree(path)).name);
    // Of a directory perhaps nothing but what is in it.
    const bool is_directory = left && left->is_directory();
    const bool is_committed =
        end.kind == Journal::Kind::kCommit && end.is_whole && !is_directory && IsLeft(left, now);
    const bool is_same =
        is_committed || (mine.value().directory && theirs.value().directory &&
                         AreSame(nodes, name, *mine.value().directory, *theirs.value().directory));
    baseline = Baseline{since, !IsLeft(left, now), now, {}};
    if (now) baseline.contents = ContentsToNote(*theirs.value().directory, name, *now);
    if (mine.value().node) known = CopyNow(*mine.value().node, is_same);
    if (!mine.value().node) known = HostFile();
    if (now || baseline.is_suspect) continue;
    // Neither has it, or the transaction alone: as if it had never been there.
    ledger->baselines.erase(path);
    manifest_.copies.erase(path);
  }
  FollowDirectories(host, end.touched, ledger);
  // In this order: a death in between leaves conflicts, never a change that hides one.
  if (auto error = directory.KeepManifest(manifest_)) return error;
  return directory.KeepLedger(*ledger);
}

}  // namespace native_runner
