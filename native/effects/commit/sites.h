#pragma once

#include <optional>
#include <string>

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// The three trees of a commit, open. All are on one file system, and reached through one mount:
// what renames need. Any thread, one at a time.
struct Sites {
  ScannedTree host;
  ScannedTree upper;  // opens what its modes shut: it is ours
  ScannedTree aside;

  const ScannedTree& Of(Site site) const {
    if (site == Site::kHost) return host;
    return site == Site::kUpper ? upper : aside;
  }

  // What is there now; nullopt: nothing, or no directory that it could be in.
  Result<std::optional<Node>> Look(const SitePath& place) const;
};

// A path as the workspace's user knows it, for messages.
std::string Shown(const SitePath& place);

// Whether two descriptors are of directories between which files can be renamed. kSetup, saying
// why, where they are not.
std::optional<Error> CheckOneMount(int one, int other);

}  // namespace native_runner
