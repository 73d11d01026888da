#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/network_rules.h"
#include "policy/options/home.h"
#include "policy/result.h"
#include "policy/text/path.h"

namespace native_runner {

// A host path that a command gets, at a path inside that the caller chose.
struct HostMount {
  std::optional<std::string> label;  // for messages
  std::string host_path;
  std::string guest_path;
  bool writable = false;
};

// The most mounts of a runner: each is a descriptor of bwrap.
inline constexpr std::size_t kMostMounts = 256;

// Returns kInvalidValue, naming the field, for a path that is not absolute or has ".." or a NUL
// byte, and for a guest path that is in or above /proc or /dev, is `workspace` or above it, or
// equals or covers an earlier mount's.
std::optional<Error> CheckHostMounts(const std::vector<HostMount>& mounts,
                                     const std::string& workspace);

// Returns the field of one mount: "mounts[1].hostPath", with its label if it has one.
std::string HostPathField(const std::vector<HostMount>& mounts, std::size_t index);

enum class Network { kAllow, kDeny, kByDomain };
enum class Isolation { kStrict, kCompat };

// Selects the host's variables that a command gets; see environment.h.
struct EnvironmentPolicy {
  enum class Mode { kScrub, kInherit, kClean, kNames };
  Mode mode = Mode::kScrub;
  std::vector<std::string> names;  // only for kNames
  bool own_proxy = false;          // the network is by domain: see OwnProxyVariables
};

// The options of a Bubblewrap runner. Immutable once a runner exists.
struct BubblewrapPolicy {
  std::string bwrap_path = "bwrap";
  std::string shadow_dir;
  std::string workspace_path = kWorkspace;  // where commands see it: there, or at `shadow_dir`
  std::string root_directory;  // in the place of all read-only binds; empty: the host's
  std::string root_image;      // or an image, whose directory HomeView names; empty: none
  std::vector<std::string> ro_binds;
  bool ro_binds_named = false;       // false: the five defaults; a missing one is skipped
  std::vector<HostMount> mounts;     // in this order, after the read-only binds
  std::vector<std::string> devices;  // paths and families, see devices.h
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only
  Isolation isolation = Isolation::kStrict;
  EnvironmentPolicy environment;
  bool with_proc = true;            // --proc proc_path
  bool with_dev = true;             // --dev dev_path
  std::string proc_path = "/proc";  // the next three are fixed for a run
  std::string dev_path = "/dev";
  std::string tmp_path = "/tmp";
  bool write_workspace = true;          // false: the workspace is mounted read-only
  bool with_landlock = false;           // the launcher applies Landlock too
  std::vector<std::string> extra_args;  // of bwrap, unchanged; see validate.h
  std::vector<std::string> required;    // layers without which no command may run
  Home home = Home::kNone;
  std::string home_directory;  // kDirectory only
  Tools tools = Tools::kNone;
  std::vector<std::string> tool_paths;     // shown besides the host's PATH
  std::vector<std::string> tool_excludes;  // never shown
  Caches caches = Caches::kNone;
  std::vector<std::string> cache_names;  // kNamed only
  std::shared_ptr<CurrentHome> shown;    // of `home`, `tools` and `caches`; null: nothing
};

// True if commands see another root file system than the host's.
inline bool HasOwnRoot(const BubblewrapPolicy& policy) {
  return !policy.root_directory.empty() || !policy.root_image.empty();
}

// True if a sandbox of this policy can be made before its command is known. False with the caller's
// extra options, since their mounts can't be checked again, and unless the end of one process ends
// all.
bool CanBePrewarmed(const BubblewrapPolicy& policy);

// The options of a Landlock runner. It uses no program but the launcher; paths are the host's own.
struct LandlockPolicy {
  std::string shadow_dir;
  std::vector<std::string> read_dirs;
  std::vector<std::string> write_dirs;
  bool read_dirs_named = false;  // false: the defaults; a missing one is skipped
  bool write_dirs_named = false;
  bool read_workspace = true;
  bool write_workspace = true;
  std::vector<std::string> devices;  // paths and families, see devices.h
  Network network = Network::kDeny;
  EnvironmentPolicy environment;
  std::vector<std::string> required;
  Home home = Home::kNone;
  std::string home_directory;  // kDirectory only
  Tools tools = Tools::kNone;
  std::vector<std::string> tool_paths;     // shown besides the host's PATH
  std::vector<std::string> tool_excludes;  // never shown
  std::shared_ptr<CurrentHome> shown;      // of `home` and `tools`; null: nothing
};

// The options of a Firejail runner.
struct FirejailPolicy {
  std::string firejail_path = "firejail";
  std::string shadow_dir;
  std::optional<std::string> profile;  // nullopt: --noprofile, and PlanFirejail confines files
  std::vector<std::string> read_dirs;  // besides the workspace
  std::vector<std::string> write_dirs;
  bool read_dirs_named = false;  // false: the defaults; a missing one is skipped
  std::vector<std::string> extra_args;
  Network network = Network::kDeny;
  EnvironmentPolicy environment;
  std::vector<std::string> required;
};

// The options of a local (unconfined) runner.
struct LocalPolicy {
  std::string shadow_dir;
  EnvironmentPolicy environment;
};

// Returns /usr, /bin, /lib, /lib64, /etc.
const std::vector<std::string>& DefaultRoBinds();

// Return /usr, /lib, /lib64, /etc, /bin, /sbin, /tmp; and /tmp.
const std::vector<std::string>& DefaultReadDirs();
const std::vector<std::string>& DefaultWriteDirs();

// Returns /usr, /lib, /lib64, /etc, /bin, /sbin; without /tmp, which is private.
const std::vector<std::string>& DefaultFirejailReadDirs();

}  // namespace native_runner
