#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Copies directory trees with all that a file system keeps of files: contents and holes, modes,
// owners, times of the last change, extended attributes (overlayfs' own notes among them), links of
// either kind, whiteouts. Names of one file in any of the trees are names of one file in the
// copies. Of files that are written meanwhile the copy is of one moment or another; a directory
// that is removed or replaced meanwhile is copied again as what its place has then. One thread.
using PathSet = std::set<std::string, std::less<>>;

class TreeCopier {
 public:
  // Who copies while commands run passes over what is gone by then, or is another file.
  enum class Gone : std::uint8_t { kIsFault, kIsPassedOver };
  explicit TreeCopier(Gone gone = Gone::kIsFault) : gone_(gone) {}

  // All of `from` into the directory `to`, which is open for reading, empty, and gets the top's
  // attributes too. Files at the paths `empty` are made with all but their contents, for a caller
  // who writes others; those with several names are copied whole. kSetup, naming the path, where
  // something can't be read or made, or is a directory that is replaced faster than it is copied.
  std::optional<Error> Copy(const ScannedTree& from, int to, const PathSet& empty = {});

 private:
  // A directory, made, whose mode and times are still to be set: what is put into it changes them.
  struct Made {
    std::string path;
    struct stat like;
    std::optional<Node> source = std::nullopt;  // whose names it got; nullopt: none yet
  };
  // Where a file that has several names was put first.
  struct First {
    std::size_t tree;
    std::string path;
  };

  std::optional<Error> CopyLive(const ScannedDirectory& from, const ScannedDirectory& to,
                                const std::string& name, const std::string& path);
  std::optional<Error> EnterFrom(const ScannedTree& from, std::size_t first);
  std::optional<Error> Enter(const ScannedTree& from, Made* made);
  PathSet Replaced(const ScannedTree& from) const;
  void Forget(const PathSet& replaced);
  std::optional<Error> Replace(const ScannedTree& from, const std::string& path);
  std::optional<Error> CopyEntry(const ScannedDirectory& from, const ScannedDirectory& to,
                                 const std::string& name, std::string path);
  std::optional<Error> CopyFile(const ScannedDirectory& from, int to, const std::string& name,
                                const struct stat& like, bool is_empty) const;
  Result<bool> LinkToFirst(const struct stat& like, int to, const std::string& name) const;
  std::optional<Error> Finish(const Made& made) const;

  const ScannedTree& tree() const { return trees_.back(); }

  Gone gone_;
  const PathSet* empty_ = nullptr;  // of the last copy
  std::vector<ScannedTree> trees_;  // the copies
  std::map<std::pair<dev_t, ino_t>, First> files_;
  std::vector<Made> made_;  // of the last copy, each after the one that it is in
};

// Who may have changed the files of a copy of a workspace. Nobody changes those of a checkpoint:
// but whoever reads one whose mode keeps its owner out sets its ctime.
// `kRunning`: commands may change them meanwhile, too.
enum class ChangedBy { kCommands, kRunning, kNobody };

// Copies a copy of a workspace once more, into the directory `to`, as TreeCopier does, and gives
// the manifest of that: where `from` was as its own manifest says, `to` is as the new one does, and
// elsewhere it is not. What is changed in either from when this returns on has another ctime.
//
// `manifest`: that of `from`, which follows the ctimes that reading has set, also where this fails.
// `empty`: as for TreeCopier.
Result<CopyManifest> CopyOnceMore(const ScannedTree& from, ChangedBy who, int to,
                                  CopyManifest* manifest, const PathSet& empty = {});

// Whether CopyOnceMore may have set ctimes of what the manifest is of.
bool HasShutFiles(const CopyManifest& manifest);

}  // namespace native_runner
