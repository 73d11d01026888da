#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/bubblewrap/bwrap_features.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/host/directory_stamps.h"

namespace native_runner {

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

}  // namespace native_runner
