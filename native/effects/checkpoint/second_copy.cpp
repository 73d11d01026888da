#include "effects/checkpoint/second_copy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "effects/checkpoint/tree_copier.h"
#include "supervise/os/file_clock.h"

namespace native_runner {
namespace {

// Looks at one path of a tree after the other; its last directory stays open.
class Looks {
 public:
  explicit Looks(const ScannedTree& tree) : tree_(tree) {}

  Result<std::optional<Node>> At(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    if (!is_open_ || parent_ != parent) {
      directory_.reset();  // what it has let in is shut again before another looks at it
      auto opened = tree_.OpenIfThere(parent);
      if (!opened) return opened.error();
      if (*opened) directory_.emplace(std::move(**opened));
      parent_ = parent;
      is_open_ = true;
    }
    if (!directory_) return std::optional<Node>();
    return directory_->Look(std::string(name));
  }

 private:
  const ScannedTree& tree_;
  bool is_open_ = false;
  std::string parent_;
  std::optional<ScannedDirectory> directory_;
};

bool IsShut(const HostFile& file) {
  return S_ISREG(file.mode) && (file.mode & S_IRUSR) == 0 && geteuid() != 0;
}

// Of directories a manifest's attributes alone count.
Result<std::vector<std::string>> Unchanged(const ScannedTree& tree, ChangedBy who,
                                           const CopyManifest& manifest) {
  std::vector<std::string> paths;
  Looks looks(tree);
  for (const auto& [path, known] : manifest.copies) {
    if (known.is_directory()) continue;
    const auto node = looks.At(path);
    if (!node) return node.error();
    if (!node.value()) continue;
    const HostFile& now = *node.value();
    const bool is_same = who == ChangedBy::kCommands ? now == known : now.HasSameContent(known);
    if (is_same) paths.push_back(path);
  }
  return paths;
}

std::optional<Error> Note(const ScannedTree& tree, const std::vector<std::string>& paths,
                          CopyManifest* manifest) {
  Looks looks(tree);
  for (const std::string& path : paths) {
    const auto node = looks.At(path);
    if (!node) return node.error();
    if (node.value()) manifest->copies[path] = *node.value();
  }
  return std::nullopt;
}

// Equal to no file that there can be, since none has the inode 0. Mode and owner are still what a
// changed file's are compared with (AsOnHost).
CopyManifest LikeNothing(const CopyManifest& manifest) {
  CopyManifest unlike;
  for (const auto& [path, known] : manifest.copies) {
    HostFile attributes;
    attributes.mode = known.mode;
    attributes.uid = known.uid;
    attributes.gid = known.gid;
    unlike.copies.emplace_hint(unlike.copies.end(), path, attributes);
  }
  return unlike;
}

}  // namespace

bool HasShutFiles(const CopyManifest& manifest) {
  return std::any_of(manifest.copies.begin(), manifest.copies.end(),
                     [](const auto& each) { return IsShut(each.second); });
}

Result<CopyManifest> CopyOnceMore(const ScannedTree& from, ChangedBy who, int to,
                                  CopyManifest* manifest) {
  const auto unchanged = Unchanged(from, who, *manifest);
  if (!unchanged) return unchanged.error();
  auto failed = TreeCopier().Copy(from, to);
  WaitForTick();
  std::vector<std::string> shut;
  for (const std::string& path : unchanged.value())
    if (IsShut(manifest->copies[path])) shut.push_back(path);
  if (auto error = Note(from, shut, manifest)) return *error;
  if (failed) return *failed;
  auto own = DuplicateOf(to);
  if (!own) return own.error();
  CopyManifest made = LikeNothing(*manifest);
  if (auto error = Note(ScannedTree(std::move(*own), true), unchanged.value(), &made)) {
    return *error;
  }
  return made;
}

}  // namespace native_runner
