#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"

namespace native_runner {

// Copies directory trees with all that a file system keeps of files: contents and holes, modes,
// owners, times of the last change, extended attributes (overlayfs' own notes among them), links of
// either kind, whiteouts. Names of one file in any of the trees are names of one file in the
// copies. Of files that are written meanwhile the copy is of one moment or another. One thread.
class TreeCopier {
 public:
  // All of `from` into the directory `to`, which is open for reading, empty, and gets the top's
  // attributes too. kSetup, naming the path, where something can't be read or made.
  std::optional<Error> Copy(const ScannedTree& from, int to);

 private:
  // A directory, made, whose mode and times are still to be set: what is put into it changes them.
  struct Made {
    std::string path;
    struct stat like;
  };
  // Where a file that has several names was put first.
  struct First {
    std::size_t tree;
    std::string path;
  };

  std::optional<Error> Enter(const ScannedTree& from, const Made& made);
  std::optional<Error> CopyEntry(const ScannedDirectory& from, const ScannedDirectory& to,
                                 const std::string& name, std::string path);
  std::optional<Error> CopyFile(const ScannedDirectory& from, int to, const std::string& name,
                                const struct stat& like) const;
  Result<bool> LinkToFirst(const struct stat& like, int to, const std::string& name) const;
  std::optional<Error> Finish(const Made& made) const;

  const ScannedTree& tree() const { return trees_.back(); }

  std::vector<ScannedTree> trees_;  // the copies
  std::map<std::pair<dev_t, ino_t>, First> files_;
  std::vector<Made> made_;  // of the last copy, each after the one that it is in
};

}  // namespace native_runner
