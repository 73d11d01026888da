#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/transaction/merge_base.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// One side of a merge: a transaction, as commands see its workspace. Movable.
struct MergeSide {
  std::string id;               // of the transaction
  std::vector<Change> changes;  // against the host; of a copy also what the host has by now too
  std::shared_ptr<const MountedWorkspace> kept;
  ScannedTree tree;
  bool is_copy = false;  // what it has not changed is as the host had it when the copy was made
  // Paths that an overlay has changed and the host has by now too: no changes, but its own.
  std::set<std::string> as_host = {};
};

// What one path needs so that a transaction (ours) has what another one (theirs) has changed since
// they parted. Plain data.
struct MergeStep {
  enum class Verdict : std::uint8_t {
    kTheirs,  // it becomes what theirs has, or goes
    kMerge,   // both have changed it, and the contents are to be merged by lines; or the mode alone
    kConflict,  // for `reason`
  };
  std::string path;
  Verdict verdict = Verdict::kTheirs;
  const char* reason = "";
  std::uint32_t mode = 0;  // of the result, as stat(2) has it; 0: that of the side it is taken from
  std::string removed = {};  // another path that goes: this one was renamed
  // Of kMerge: the contents; none of them where the mode alone is merged.
  std::optional<std::string> base = std::nullopt;
  std::optional<std::string> ours = std::nullopt;
  std::optional<std::string> theirs = std::nullopt;
};

// The most bytes of texts that one plan holds, all three sides of each together.
inline constexpr std::uint64_t kMostTexts = std::uint64_t{256} << 20U;

// The mode of a file that two have changed; nullopt: to something else each.
inline std::optional<std::uint32_t> MergedMode(std::uint32_t base, std::uint32_t ours,
                                               std::uint32_t theirs) {
  if (ours == theirs || theirs == base) return ours;
  if (ours == base) return theirs;
  return std::nullopt;
}

using MergePlan = std::vector<MergeStep>;  // in the order of the paths' bytes

// What to do of a plan. Plain data.
struct MergeRequest {
  struct Theirs {
    std::string path;
    std::uint32_t mode = 0;  // 0: as theirs has it
  };
  struct File {
    std::string path;
    std::uint32_t mode = 0;
    std::optional<std::vector<std::uint8_t>> contents;  // nullopt: those that are there
  };
  std::vector<Theirs> theirs;
  std::vector<File> files;
  std::vector<std::string> removed;
  PathFilter paths;  // of the plan: what is not of them was not merged
};

// A merge whose files are in their place. Plain data.
struct MergeToSettle {
  std::string other;      // the id of the transaction that was merged
  std::string base;       // the id that its state gets as a base of both
  bool is_whole = false;  // of all paths
};

// Plans a merge, path by path: what one side alone has changed since `base` is taken from it; what
// both have made the same of is no conflict; contents of two files are merged by lines, modes apart
// from them; a file that one side has renamed and the other one changed is changed under its new
// name. Directories have no contents of their own: one that has to go stays while it is not empty.
//
// `host`: the workspace. `takes_all`: not a merge: whatever differs is taken from theirs. kSetup
// where something can't be read.
Result<MergePlan> PlanMergeOf(const MergeSide& ours, const MergeSide& theirs, const MergeBase& base,
                              const ScannedTree& host, const PathFilter& paths, bool takes_all);

// Does what the request says in the tree `to`, open for reading, through which an overlay is
// written too. kSetup, naming the path, where the file system refuses: half of it is done then.
std::optional<Error> ApplyMerge(const MergeRequest& request, const ScannedTree& theirs, int to);

}  // namespace native_runner
