#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/network/network_rules.h"
#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// Tells whether names in some directories may have changed since they were looked at: a directory's
// ctime moves with every entry that is made, removed or replaced, and can't be set back
// (inode(7)). Supervisor thread.
class DirectoryStamps {
 public:
  // Call before looking at what `path` leads to: remembers all the directories above it.
  void AddAbove(const std::string& path);
  void Add(const std::string& directory);

  // For a name that is found along directories which were not added.
  void Invalidate() { trusted_ = false; }

  // False as soon as one of them is another one, is gone or came, or has changed; always where the
  // stamps can't tell: a symbolic link among them, or one that had changed so shortly before it
  // was stamped that the clock does not keep then and later apart.
  bool Unchanged() const;

 private:
  struct Stamp {
    bool there = false;
    bool link = false;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Entry {
    std::string directory;
    Stamp stamp;
  };

  static Stamp Take(const std::string& directory);

  std::vector<Entry> entries_;
  bool trusted_ = true;
};

// What only root may read on common distributions, as real paths; empty unless we are uid 0.
struct Secrets {
  std::vector<std::string> files;
  std::vector<std::string> directories;
};

// What the plans of a supervisor's runs depend on: which roBinds exist, which are links into
// another one (merged /usr), and, for uid 0, which files only root may read. Looked at once, and
// again as soon as a directory that holds one of the names has changed, so that no run misses what
// happened on the host before it. Supervisor thread only.
class Host {
 public:
  Secrets FindSecrets();

  // kSetup when a roBind that the caller named does not exist.
  Result<HostFacts> Look(const BubblewrapPolicy& policy, const BwrapFeatures& features);

 private:
  enum class Kind { kMissing, kFile, kDirectory, kLink };
  struct PathFacts {
    Kind kind = Kind::kMissing;
    std::string link;  // what it is a link to, or empty
  };

  static Kind KindOf(const std::string& path);
  void Refresh();
  const PathFacts& FactsOf(const std::string& path);
  void AddSecret(const std::string& path);
  const Secrets& SecretsNow();

  DirectoryStamps stamps_;
  std::map<std::string, PathFacts> paths_;
  std::optional<Secrets> secrets_;
  uid_t euid_ = static_cast<uid_t>(-1);  // whose secrets; the host may drop privileges
};

// Adds to `facts` what a sandbox with a network by domain is to find names by
// (bubblewrap_mounts.h), and where that has to be mounted: what programs open may be a link of the
// host's to anywhere, or not be there. `mounts`: what is seen inside so far. The files have the
// descriptors from `first_descriptor` on.
//
// Left out is what needs no file: where the host has none in a directory that is bound read-only,
// none can be made, and without one programs ask 127.0.0.1 (resolv.conf(5)). So is what the caller
// has mounted to be written to, which would change on the host.
// So is what is as it has to be already: each mount takes bwrap some 0.2 ms.
void FindNameFiles(const NetworkRules& rules, const std::vector<Mount>& mounts,
                   int first_descriptor, HostFacts* facts);

}  // namespace native_runner
