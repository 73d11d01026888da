#pragma once

#include <sys/stat.h>

#include <atomic>
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

// How far copying is, for whoever waits for it on another thread.
struct CopyProgress {
  std::uint64_t files = 0;               // that were copied: all but directories
  std::uint64_t bytes = 0;               // of them, without holes; those of clones too
  std::atomic<bool> is_stopped = false;  // set by who waits: copying ends soon, with kClosed
  // Called now and then, ten times a second at most, on the thread that copies; or empty.
  std::function<void(std::uint64_t files, std::uint64_t bytes)> tell;
  std::int64_t reported_ms = 0;  // by CLOCK_MONOTONIC

  // Tells if it is time to.
  void Tell();
};

// Fills an empty file with what another one holds. The file system shares the blocks where it can
// (FICLONE); else they are copied (copy_file_range(2)), and holes stay holes. `size`: of `from`, as
// it was looked at; one that has changed since is told from it afterwards, not here. 0, or of
// errno(3); ECANCELED where `progress` says stop. Any thread.
int CopyContents(int from, int to, std::uint64_t size, CopyProgress* progress);

// What was copied, as it was while it was copied, and the copy as it is now.
struct CopiedEntry {
  Node original;
  Node copy;
  std::optional<std::uint64_t> contents =
      std::nullopt;  // of the copy, where CopyRules::notes_contents
};

// How copies are made.
struct CopyRules {
  CopyProgress* progress;
  // Whose mode, owner and group a copy must have, or it is none: kSetup. nullptr: those of the
  // original, as far as this user may give them.
  const HostFile* like = nullptr;
  // Contents are noted where a change of the original may leave its times (same_file.h).
  bool notes_contents = false;
};

// Makes a copy of what is neither directory nor device: contents with their holes, extended
// attributes of a user's, mode, owner and times, never a hard link. One that is changed while it is
// copied is copied anew. nullopt: there is nothing of this name, or a directory, or a device.
//
// `to`: the directory in which it gets the name `to_name`, which nothing has. kSetup, naming
// `shown`, where something of it can't be read or made: there is nothing of it then; without `like`
// kUnavailable where this user may not read it. kClosed when it is to stop. Any thread.
Result<std::optional<CopiedEntry>> CopyEntry(const ScannedDirectory& from, const std::string& name,
                                             int to, const std::string& to_name,
                                             const std::string& shown, const CopyRules& rules);

// Gives a directory that is open for reading mode, owner and times, as CopyEntry does; 0, or of
// errno(3).
int GiveAttributes(int directory, const Node& like, bool is_exact);

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
