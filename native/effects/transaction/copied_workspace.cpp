#include "effects/transaction/copied_workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "effects/changes/change_of.h"
#include "effects/commit/taken_back.h"
#include "effects/copy/copy_tree.h"
#include "supervise/os/file_clock.h"

namespace native_runner {
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

// A name in one of the trees, and the directory that it is in.
struct Spot {
  std::optional<ScannedDirectory> directory;
  std::optional<Node> node;
};

// A path of the ledger's, in a tree: the workspace itself is its top.
std::string_view InTree(std::string_view path) {
  return path == "." ? std::string_view() : path;
}

Result<Spot> Look(const ScannedTree& tree, std::string_view path) {
  const auto [parent, name] = SplitPath(InTree(path));
  auto directory = tree.OpenIfThere(parent);
  if (!directory) return directory.error();
  Spot spot;
  if (!*directory) return spot;
  auto node = (*directory)->Look(std::string(name));
  if (!node) return node.error();
  spot.node = *node;
  spot.directory = std::move(*directory);
  return spot;
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
  WaitForTick();  // whatever a command changes has another ctime
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
  const std::uint64_t since = WaitForTick();
  for (const auto& [path, left] : LeftBy(end.touched)) {
    const auto theirs = Look(host, path);
    if (!theirs) return theirs.error();
    const auto mine = Look(copy, path);
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
    baseline = Baseline{since, !IsLeft(left, now), now};
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
