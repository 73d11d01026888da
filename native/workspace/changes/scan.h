#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Files of one size that were read and found to differ: whoever asks again, and finds both as they
// were by their ctime, need not read them. Of those that are the same nothing is kept: a write
// through a mapping may leave ctime alone (mmap(2)), and would be lost. Plain data, a copy for each
// thread that adds.
class Differences {
 public:
  bool Has(const std::string& path, const HostFile& now, const HostFile& before) const {
    const auto found = files_.find(path);
    return found != files_.end() && found->second.first == now && found->second.second == before;
  }

  void Add(const std::string& path, const HostFile& now, const HostFile& before) {
    files_.insert_or_assign(path, std::pair(now, before));
  }

  void Merge(Differences* other) { files_.merge(other->files_); }

 private:
  std::map<std::string, std::pair<HostFile, HostFile>> files_;
};

// More than these are kSetup.
inline constexpr std::size_t kMostChanges = 1'000'000;

// What an overlay over `lower` shows otherwise than `lower` does, in the order of the paths' bytes.
// `upper` is where overlayfs has put it. A file whose contents, mode, owner and extended attributes
// are the host's is no change, whatever its times; contents are compared, since times can be
// forged.
//
// A change of the host's to one of the paths since the ledger's baseline of it, or to a directory
// above, is a conflict; where it has none, one since its last look, or since the baseline of the
// directory that is no longer shown.
//
// `known`: what an earlier scan of the same trees has found; what this one has found takes its
// place. `as_host`: gets the paths, of no directory, that commands have changed and that the host
// has by now too.
//
// kSetup where something can't be read, or there are more than a million changes. Meant for a
// thread of its own; the trees may change meanwhile, and what is said of a path is then of one
// moment or another.
Result<std::vector<Change>> ScanChanges(const ScannedTree& upper, const ScannedTree& lower,
                                        const Ledger& ledger, Differences* known = nullptr,
                                        std::set<std::string>* as_host = nullptr);

// What commands have changed in a copy of a workspace, in the order of the paths' bytes: as
// ScanChanges tells it of an overlay. What is as the manifest has it was not changed, and is not
// read; of the rest, what the host has by now too is no change. A change of the host's since the
// ledger's baseline of the path, or to a directory above, is a conflict.
//
// `copy`: the copy's tree; `host`: the workspace. kSetup where something can't be read, or there
// are more than a million changes. The trees may change meanwhile.
//
// `as_host`: gets what was changed and the host has by now too, which another copy may not have; of
// what is gone in both, only the paths.
Result<std::vector<Change>> ScanCopy(const ScannedTree& copy, const ScannedTree& host,
                                     const CopyManifest& manifest, const Ledger& ledger,
                                     std::vector<Change>* as_host = nullptr);

// What tells the state of a change that was seen from all later ones (VersionOf): contents, where
// times can't (same_file.h).

// Gives changes a digest where their times may be those of a later state too. `begun_ns`: by the
// clock of file times, before they were scanned. `may_be_open`: something may have files of the
// tree open, so that each is looked at. What is written to through a mapping is on disk when this
// returns: the next write sets the times again. Reads the files that get a digest, and no others.
void AddDigests(const ScannedTree& upper, std::uint64_t begun_ns, bool may_be_open,
                std::vector<Change>* changes);

// Gives changes a digest that were seen with one. `seen`: by path, versions.
void AddSeenDigests(const ScannedTree& upper,
                    const std::map<std::string, std::string, std::less<>>& seen,
                    std::vector<Change>* changes);

}  // namespace native_runner
