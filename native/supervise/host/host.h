#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/network/network_rules.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "policy/run/outcome.h"

namespace native_runner {

// Detects that names in some directories may have changed since they were examined: a directory's
// ctime changes with every entry that is made, removed or replaced, and can't be set back
// (inode(7)). One thread at a time.
class DirectoryStamps {
 public:
  // Adds all directories above `path`. Call before examining the target of `path`.
  void AddAbove(const std::string& path);
  void Add(const std::string& directory);

  // Call for a name that is found through directories which were not added.
  void Invalidate() { trusted_ = false; }

  // Returns false as soon as one of them is replaced, removed, created or changed. Always false if
  // the stamps are unreliable: with a symbolic link among them, or a directory that had changed so
  // shortly before its stamp that the clock cannot distinguish later changes.
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

// Files that only root may read on common distributions, as real paths; empty unless we are uid 0.
struct Secrets {
  std::vector<std::string> files;
  std::vector<std::string> directories;
};

// Host facts that the plans of a supervisor's runs depend on: which roBinds exist, which are links
// into another one (merged /usr), and, for uid 0, which files only root may read. Examined once,
// and again as soon as a directory that holds one of the names has changed, so each run sees all
// earlier changes on the host. One thread at a time.
class Host {
 public:
  Secrets FindSecrets();

  // kSetup if a roBind that the caller named does not exist.
  Result<HostFacts> Look(const BubblewrapPolicy& policy, const BwrapFeatures& features);

 private:
  enum class Kind { kMissing, kFile, kDirectory, kLink };
  struct PathFacts {
    Kind kind = Kind::kMissing;
    std::string link;  // target of the link, or empty
  };

  static Kind KindOf(const std::string& path);
  void Refresh();
  const PathFacts& FactsOf(const std::string& path);
  void AddSecret(const std::string& path);
  const Secrets& SecretsNow();

  DirectoryStamps stamps_;
  std::map<std::string, PathFacts> paths_;
  std::optional<Secrets> secrets_;
  uid_t euid_ = static_cast<uid_t>(-1);  // user of the secrets; the host may drop privileges
};

// The hosts of one supervisor's threads: each thread that looks has one for itself, and what it has
// learned is used again. Supervisor thread only.
class Hosts {
 public:
  std::unique_ptr<Host> Take();
  void Return(std::unique_ptr<Host> host) { idle_.push_back(std::move(host)); }

 private:
  std::vector<std::unique_ptr<Host>> idle_;
};

inline std::unique_ptr<Host> Hosts::Take() {
  if (idle_.empty()) return std::make_unique<Host>();
  std::unique_ptr<Host> host = std::move(idle_.back());
  idle_.pop_back();
  return host;
}

// Adds to `facts` the files that a sandbox with a network by domain needs to resolve names
// (bubblewrap_mounts.h), and to trust the host where TLS ends there, and where to mount them: the
// path that programs open may be a host link to any place, or be missing. `mounts`: the mounts
// inside so far. The files have the descriptors from `first_descriptor` on. kSetup if a file that
// has to be there can't be: the sandbox would trust nobody.
//
// A file is left out in three cases. It is missing from a directory that is bound read-only, where
// none can be made; without it programs ask 127.0.0.1 (resolv.conf(5)). Or the caller has mounted
// it writable, so it would change on the host. Or it has the right text already: each mount takes
// bwrap some 0.2 ms.
//
// In an own root (`facts->root`), which needs no place on the host, only nsswitch.conf is left out
// where it is missing: programs without it ask the name servers anyway.
std::optional<Error> FindNameFiles(const NetworkPolicy& policy, const std::vector<Mount>& mounts,
                                   int first_descriptor, HostFacts* facts);

// Adds to `facts` the files that commands in an own root need of this host: with its network its
// name servers and hosts; the root's lists of users and groups with the ones that commands run as,
// unless they are in them. As FindNameFiles.
void FindRootFiles(Network network, const std::vector<Mount>& mounts, int first_descriptor,
                   HostFacts* facts);

// Reads what of this host decides whether bwrap can make a sandbox: some files of /proc, /run and
// the root, in well below a millisecond. For runs that have failed. Any thread.
SetupFacts ReadSetupFacts();

// True if bwrap can forbid user namespaces inside a sandbox (--disable-userns): it writes a limit
// in /proc/sys, which containers mount read-only. Looked at anew for each run. Any thread.
bool MayLimitUserNamespaces();

// Returns what the operator can do about a sandbox that could not be made, from the message
// `reason` and this host; empty if unknown. `runtime`, `program`: those of the run's record. Any
// thread.
std::string SetupFix(const std::string& reason, std::string_view runtime,
                     const std::string& program);

}  // namespace native_runner
