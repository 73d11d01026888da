#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "workspace/changes/patch.h"
#include "workspace/changes/same_file.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/transaction/merge_base.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/helper_thread.h"

// What a transaction has changed since it and another one parted.

namespace native_runner {
namespace {

constexpr int kOpenParted = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// What there was where two transactions parted, at some paths, as a tree of files; removed with
// the object. One thread.
class PartedTree {
 public:
  // `directory`: of a transaction, open for reading; it must outlive this.
  static Result<PartedTree> Make(int directory) {
    if (auto error = RemoveOwn(directory, kPartedTree)) return *error;
    auto made = MakeOwn(directory, kPartedTree);
    if (!made) return made.error();
    return PartedTree(directory, std::move(*made));
  }
  PartedTree(PartedTree&& other) noexcept
      : directory_(std::exchange(other.directory_, -1)), top_(std::move(other.top_)) {}
  PartedTree& operator=(PartedTree&&) = delete;
  PartedTree(const PartedTree&) = delete;
  PartedTree& operator=(const PartedTree&) = delete;
  ~PartedTree() {
    if (directory_ >= 0) static_cast<void>(RemoveOwn(directory_, kPartedTree));
  }

  Result<ScannedTree> Open() const {
    auto own = DuplicateOf(top_.get());
    if (!own) return own.error();
    return ScannedTree(std::move(*own), true);
  }

  // Puts what the base has at a path.
  std::optional<Error> Put(const std::string& path, const KeptPaths& base,
                           const KeptPaths::Entry& entry) const {
    const auto in = ParentOf(path);
    if (!in) return in.error();
    const std::string name(SplitPath(InTree(path)).name);
    const int at = in.value().get();
    if (name.empty()) return std::nullopt;
    if (S_ISDIR(entry.mode)) return MakeDirectory(path, at, name);
    if (S_ISLNK(entry.mode)) {
      if (symlinkat(entry.target.c_str(), at, name.c_str()) == 0) return std::nullopt;
      return Failed(path, "symlink", errno);
    }
    if (!entry.is_file()) return std::nullopt;
    const auto contents = base.ContentsOf(entry);
    if (!contents) {
      return Error{ErrorCode::kSetup, path + ": what it was where both parted was not kept",
                   "leave it out by `paths`"};
    }
    const Descriptor file(
        openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return Failed(path, "open", errno);
    if (!WriteBytes(file.get(), *contents)) return Failed(path, "write", errno);
    return std::nullopt;
  }

  // Puts what the host has at a path.
  std::optional<Error> Put(const std::string& path, const Spot& host) const {
    const auto in = ParentOf(path);
    if (!in) return in.error();
    const std::string name(SplitPath(InTree(path)).name);
    if (name.empty()) return std::nullopt;
    if (host.node->is_directory()) return MakeDirectory(path, in.value().get(), name);
    CopyProgress unheard;
    const auto copied =
        CopyEntry(*host.directory, name, in.value().get(), name, path, {&unheard, nullptr, false});
    return copied ? std::nullopt : std::optional(copied.error());
  }

 private:
  PartedTree(int directory, Descriptor top) : directory_(directory), top_(std::move(top)) {}

  static Error Failed(const std::string& path, const char* call, int number) {
    Error error = SystemError(call, number);
    error.message = path + ": " + error.message;
    return error;
  }

  static std::optional<Error> MakeDirectory(const std::string& path, int at,
                                            const std::string& name) {
    if (mkdirat(at, name.c_str(), S_IRWXU) == 0 || errno == EEXIST) return std::nullopt;
    return Failed(path, "mkdir", errno);
  }

  // Made where it is missing; its attributes are compared by themselves, or not at all.
  Result<Descriptor> ParentOf(const std::string& path) const {
    auto at = DuplicateOf(top_.get());
    if (!at) return at.error();
    std::string_view rest = SplitPath(InTree(path)).parent;
    while (!rest.empty()) {
      const std::size_t slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
      if (mkdirat(at->get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
        return Failed(path, "mkdir", errno);
      }
      Descriptor next(openat(at->get(), name.c_str(), kOpenParted));
      if (!next.valid()) return Failed(path, "open", errno);
      *at = std::move(next);
    }
    return std::move(*at);
  }

  int directory_;
  Descriptor top_;
};

Node NodeOfEntry(const KeptPaths::Entry& entry) {
  Node node;
  node.mode = entry.mode;
  node.uid = entry.uid;
  node.gid = entry.gid;
  node.size = S_ISREG(entry.mode) ? entry.size : 0;
  return node;
}

}  // namespace

// `use` gets both trees, and the changes from the one to the other.
template <typename Value>
Result<Value> Transaction::SinceFork(
    Transaction& other, const PathFilter& paths,
    const std::function<Result<Value>(const ScannedTree& own, const ScannedTree& parted,
                                      const std::vector<Change>& changes)>& use) {
  if (auto error = CheckOther(other)) return *error;
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto both = LookAtBoth(other);
  if (!both) return both.error();
  const auto base = BaseWith(other);
  if (!base) return base.error();
  const auto parted = PartedTree::Make(directory_.descriptor());
  if (!parted) return parted.error();
  const ScannedTree& own = both.value().ours.tree;
  std::set<std::string> all;
  for (const Change& change : both.value().ours.changes)
    all.insert(change.path);
  base.value().AddPaths(&all);
  const StopScope scope(&is_stopped_);
  std::vector<Change> changes;
  SpotView own_at(own);
  SpotView host_at(both.value().host);
  for (const std::string& path : all) {
    if (is_stopped_) return WasClosed();
    if (!paths.Has(InTree(path))) continue;
    const auto now = own_at.At(path);
    if (!now) return now.error();
    const auto found = base.value().Find(path);
    const auto host = found ? Result<Spot>(Spot{}) : host_at.At(path);
    if (!host) return host.error();
    TwoNodes nodes = {now.value().node, host.value().node};
    if (found && found->entry->mode != 0) nodes.before = NodeOfEntry(*found->entry);
    if (!nodes.now && !nodes.before) continue;
    const std::string name(SplitPath(InTree(path)).name);
    const bool is_same =
        found ? found->kept->IsAt(*found->entry, now.value(), name)
              : nodes.now && nodes.before &&
                    AreSame(nodes, name, *now.value().directory, *host.value().directory);
    if (is_same) continue;
    if (nodes.before) {
      const auto error = found ? parted.value().Put(path, *found->kept, *found->entry)
                               : parted.value().Put(path, host.value());
      if (error) return *error;
    }
    Change change = ChangeOf(path, nodes);
    if (nodes.now && nodes.now->is_link()) {
      const auto target = now.value().directory->Target(name);
      if (target) change.target = target.value();
    }
    changes.push_back(std::move(change));
  }
  const auto before = parted.value().Open();
  if (!before) return before.error();
  PairRenames(own, before.value(), &changes);
  return use(own, before.value(), changes);
}

Result<std::vector<Change>> Transaction::ChangesSinceFork(Transaction& other,
                                                          const PathFilter& paths) {
  return SinceFork<std::vector<Change>>(
      other, paths,
      [](const ScannedTree& /*own*/, const ScannedTree& /*parted*/,
         const std::vector<Change>& changes) { return Result(changes); });
}

Result<std::string> Transaction::DiffSinceFork(Transaction& other, const PathFilter& paths,
                                               std::uint64_t most) {
  return SinceFork<std::string>(
      other, paths,
      [most](const ScannedTree& own, const ScannedTree& parted,
             const std::vector<Change>& changes) { return MakePatch(own, parted, changes, most); });
}

}  // namespace native_runner
