#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/beneath.h"

namespace native_runner {

// What one path is, without following a link.
struct Node : HostFile {
  std::uint64_t device_number = 0;  // of a device: major and minor
  std::uint64_t allocated = 0;      // bytes on disk: holes have none
  std::uint32_t links = 1;          // names that it has

  bool is_file() const { return S_ISREG(mode); }
  bool is_link() const { return S_ISLNK(mode); }
  // overlayfs: the file that was here is removed.
  bool is_whiteout() const { return S_ISCHR(mode) && device_number == 0; }
};

// Of an open descriptor, O_PATH ones among them.
Result<Node> NodeOf(int descriptor);

// A directory, or a file, that keeps its owner out, let in as long as this lives; then its mode is
// what it was, unless somebody has given it another one meanwhile.
class OpenedDirectory {
 public:
  // `place`: O_PATH. `mode`: what it has; `added`: the bits that it gets. nullopt: it can't be
  // changed, as errno says.
  static std::optional<OpenedDirectory> Open(Descriptor place, mode_t mode, mode_t added);
  ~OpenedDirectory();
  OpenedDirectory(OpenedDirectory&&) = default;
  OpenedDirectory& operator=(OpenedDirectory&&) = delete;

  int place() const { return place_.get(); }

 private:
  OpenedDirectory(Descriptor place, mode_t mode, mode_t opened)
      : place_(std::move(place)), mode_(mode), opened_(opened) {}

  Descriptor place_;
  mode_t mode_;
  mode_t opened_;  // what it got: the kernel may leave out S_ISGID
};

// A directory of a tree, open. Names that come from it are looked up in it, never by a path: what
// somebody moves meanwhile leads nowhere else. Any thread.
class ScannedDirectory {
 public:
  explicit ScannedDirectory(Descriptor directory, std::vector<OpenedDirectory> opened = {})
      : opened_(std::move(opened)), directory_(std::move(directory)) {}

  int descriptor() const { return directory_.get(); }

  // Without "." and "..", in the order of the names' bytes; as ReadNames.
  Result<std::vector<std::string>> Names() const;
  Result<std::vector<NamedType>> Entries() const;

  // nullopt: there is none. "" is the directory itself.
  Result<std::optional<Node>> Look(const std::string& name) const;
  Result<std::string> Target(const std::string& link) const;
  // nullopt: there is none, or what is there is no link.
  Result<std::optional<std::string>> TargetIfThere(const std::string& link) const;

  // For reading. A FIFO is never waited for.
  Result<Descriptor> OpenFile(const std::string& name) const;

 private:
  std::vector<OpenedDirectory> opened_;  // on the way, from the top
  Descriptor directory_;
};

// A directory tree whose root is open. Paths are relative to it, and normalised; no step of one
// leaves the tree, leads through a link or, unless it is told to, onto another file system
// (OpenBeneath).
class ScannedTree {
 public:
  // `opens_closed`: a directory whose mode keeps its owner out is given another one while it is
  // looked at. A command may have made it so, and hidden something in it.
  explicit ScannedTree(Descriptor root, bool opens_closed = false, Mounts mounts = Mounts::kStay)
      : root_(std::move(root)), opens_closed_(opens_closed), mounts_(mounts) {}

  int root() const { return root_.get(); }
  bool opens_closed() const { return opens_closed_; }

  // True if `opens_closed` is not set and the mode of a directory, or of one on the way to it,
  // keeps this user from reading what it has.
  bool KeepsOut(std::string_view path) const;

  // The same tree, of which what keeps its owner out can't be read.
  Result<ScannedTree> WhereOpen() const;

  // "" is the root. kSetup where it can't be opened.
  Result<ScannedDirectory> Open(std::string_view path) const;

  // One whose names are to be changed; as `Open`, but `opens_closed` lets its owner do that too.
  Result<ScannedDirectory> OpenToChange(std::string_view path) const;

  // Whether the tree has a directory there that can be reached so.
  Result<std::optional<ScannedDirectory>> OpenIfThere(std::string_view path) const;

 private:
  FileResult<ScannedDirectory> TryOpen(std::string_view path, int access) const;
  FileResult<ScannedDirectory> OpenClosed(std::string_view path) const;

  Descriptor root_;
  bool opens_closed_;
  Mounts mounts_;
};

// The directory that a path's last step is in ("" is the root), and that step.
struct ParentAndName {
  std::string_view parent;
  std::string_view name;
};
ParentAndName SplitPath(std::string_view path);
ParentAndName SplitPath(std::string&& path) = delete;  // its parts would be of what is gone

// What a tree has at a path, and the directory that it is in.
struct Spot {
  std::shared_ptr<const ScannedDirectory> directory;
  std::optional<Node> node;
};

// The path of a change, in a tree: the workspace itself (".") is its top.
inline std::string_view InTree(std::string_view path) {
  return path == "." ? std::string_view() : path;
}

// Looks at one path of a tree after the other, and keeps the last directory open, since paths that
// are asked for on end lie together. Each result is of a moment of its own, as of SpotOf: a
// directory that was replaced meanwhile may still show what it has, but only one that was opened
// for it tells that something is not there. One thread.
class SpotView {
 public:
  // The tree must outlive it.
  explicit SpotView(const ScannedTree& tree) : tree_(tree) {}

  // At the path of a change. kSetup where it can't be looked at.
  Result<Spot> At(std::string_view path);

 private:
  std::optional<Error> Open(std::string_view parent);

  const ScannedTree& tree_;
  std::optional<std::string> parent_;  // of the directory; nullopt: of none yet
  std::shared_ptr<const ScannedDirectory> directory_;
};

// At the path of a change. kSetup where it can't be looked at.
Result<Spot> SpotOf(const ScannedTree& tree, std::string_view path);

}  // namespace native_runner
