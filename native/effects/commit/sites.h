#pragma once

#include <array>
#include <optional>
#include <string>

#include "effects/changes/scanned_tree.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// The trees of a commit, open. What is renamed goes from one to another of the same file system,
// reached through one mount: host and aside, and all but those where there is a place kept; else
// all three. Any thread, one at a time.
struct Sites {
  ScannedTree host;
  ScannedTree upper;  // opens what its modes shut: it is ours
  ScannedTree aside;
  std::optional<ScannedTree> kept;  // where host and upper are on two file systems
  bool is_exposed = false;          // `aside` is in the workspace, where commands may reach it

  const ScannedTree& Of(Site site) const {
    if (site == Site::kHost) return host;
    if (site == Site::kUpper) return upper;
    return site == Site::kKept && kept ? *kept : aside;
  }

  // What is there now; nullopt: nothing, or no directory that it could be in.
  Result<std::optional<Node>> Look(const SitePath& place) const;
};

// What is where, asked for one path after the other: the last directory of each site stays open,
// for those asked for on end lie together. What is told is of one moment or another. One thread.
class SitesView {
 public:
  explicit SitesView(const Sites& sites) : sites_(sites) {}

  // The directory that a path is in; nullptr: there is none. Until the next call for the same site.
  Result<const ScannedDirectory*> ParentOf(const SitePath& place);

  // As Sites::Look.
  Result<std::optional<Node>> Look(const SitePath& place);

 private:
  struct Held {
    std::string path;
    std::optional<ScannedDirectory> directory;
  };

  const Sites& sites_;
  std::array<std::optional<Held>, kSites> held_;  // by site
};

// A path as the workspace's user knows it, for messages.
std::string Shown(const SitePath& place);

}  // namespace native_runner
