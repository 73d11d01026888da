#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// What one path is, without following a link.
struct Node {
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t device_number = 0;  // of a device: major and minor
  std::uint64_t changed_ns = 0;     // ctime, since 1970

  bool is_directory() const { return S_ISDIR(mode); }
  bool is_file() const { return S_ISREG(mode); }
  bool is_link() const { return S_ISLNK(mode); }
  // overlayfs: the file that was here is removed.
  bool is_whiteout() const { return S_ISCHR(mode) && device_number == 0; }
};

// A directory that keeps its owner out, let in as long as this lives; then its mode is what it was.
class OpenedDirectory {
 public:
  OpenedDirectory(Descriptor place, std::uint32_t mode) : place_(std::move(place)), mode_(mode) {}
  ~OpenedDirectory();
  OpenedDirectory(OpenedDirectory&&) = default;
  OpenedDirectory& operator=(OpenedDirectory&&) = delete;

 private:
  Descriptor place_;  // O_PATH
  std::uint32_t mode_;
};

// A directory of a tree, open. Names that come from it are looked up in it, never by a path: what
// somebody moves meanwhile leads nowhere else. Any thread.
class TreeDirectory {
 public:
  explicit TreeDirectory(Descriptor directory, std::vector<OpenedDirectory> opened = {})
      : opened_(std::move(opened)), directory_(std::move(directory)) {}

  int descriptor() const { return directory_.get(); }

  // Without "." and "..", in the order of their bytes.
  Result<std::vector<std::string>> Names() const;

  // nullopt: there is none.
  Result<std::optional<Node>> Look(const std::string& name) const;
  Result<std::string> Target(const std::string& link) const;

  // For reading. A FIFO is never waited for.
  Result<Descriptor> OpenFile(const std::string& name) const;

 private:
  std::vector<OpenedDirectory> opened_;  // on the way, from the top
  Descriptor directory_;
};

// A directory tree whose root is open. Paths are relative to it; no step of one leaves the tree,
// leads through a link or onto another file system (openat2(2)).
class Tree {
 public:
  // `opens_closed`: a directory whose mode keeps its owner out is given another one while it is
  // looked at. A command may have made it so, and hidden something in it.
  explicit Tree(Descriptor root, bool opens_closed = false)
      : root_(std::move(root)), opens_closed_(opens_closed) {}

  // "" is the root. kSetup where it can't be opened, a path of more than 4,095 bytes included.
  Result<TreeDirectory> Open(const std::string& path) const;

  // Whether the tree has a directory there that can be reached so.
  Result<std::optional<TreeDirectory>> OpenIfThere(const std::string& path) const;

 private:
  Result<TreeDirectory> OpenClosed(const std::string& path) const;

  Descriptor root_;
  bool opens_closed_;
};

}  // namespace native_runner
