#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/network_rules.h"
#include "policy/result.h"

namespace native_runner {

// A host path that a command gets, at a path inside that the caller chose.
struct HostMount {
  std::optional<std::string> label;  // for messages
  std::string host_path;
  std::string guest_path;
  bool writable = false;
};

// How many a runner takes: each is a descriptor of bwrap's.
inline constexpr std::size_t kMostMounts = 256;

// kInvalidValue, naming the field: a path that is not absolute, has ".." or a NUL byte; a guest
// path in or above /proc or /dev, that is the workspace or above it, or that an earlier mount has
// or lies below.
std::optional<Error> CheckHostMounts(const std::vector<HostMount>& mounts);

// Of one mount: "mounts[1].hostPath", with its label where it has one.
std::string HostPathField(const std::vector<HostMount>& mounts, std::size_t index);

enum class Network { kAllow, kDeny, kByDomain };
enum class Isolation { kStrict, kCompat };

// Which of the host's variables a command gets; see environment.h.
struct EnvironmentPolicy {
  enum class Mode { kScrub, kInherit, kClean, kNames };
  Mode mode = Mode::kScrub;
  std::vector<std::string> names;  // only for kNames
  bool own_proxy = false;          // the network is by domain: see OwnProxyVariables
};

// What a Bubblewrap runner was made with. Immutable once a runner exists.
struct BubblewrapPolicy {
  std::string bwrap_path = "bwrap";
  std::string shadow_dir;
  std::vector<std::string> ro_binds;
  bool ro_binds_named = false;    // false: the five defaults, of which a missing one is skipped
  std::vector<HostMount> mounts;  // in this order, after the read-only binds
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only
  Isolation isolation = Isolation::kStrict;
  EnvironmentPolicy environment;
  bool with_proc = true;            // --proc proc_path
  bool with_dev = true;             // --dev dev_path
  std::string proc_path = "/proc";  // a run's are always these three
  std::string dev_path = "/dev";
  std::string tmp_path = "/tmp";
  bool write_workspace = true;          // false: /workspace is mounted read-only
  bool with_landlock = false;           // a second wall, put up by the launcher
  std::vector<std::string> extra_args;  // bwrap's, verbatim; see extra_args.h
  std::vector<std::string> required;    // layers without which nothing may run
};

// Whether a sandbox of this policy can be made before its command is known. Not with options of the
// caller's own, since what those mount can't be checked again; and only where the end of one
// process is the end of all.
bool CanBePrewarmed(const BubblewrapPolicy& policy);

// What a Landlock runner was made with: no program but the launcher, paths are the host's own.
struct LandlockPolicy {
  std::string shadow_dir;
  std::vector<std::string> read_dirs;
  std::vector<std::string> write_dirs;
  bool read_dirs_named = false;  // false: the defaults, of which a missing one is skipped
  bool write_dirs_named = false;
  bool read_workspace = true;
  bool write_workspace = true;
  Network network = Network::kDeny;
  EnvironmentPolicy environment;
  std::vector<std::string> required;
};

// What a Firejail runner was made with.
struct FirejailPolicy {
  std::string firejail_path = "firejail";
  std::string shadow_dir;
  std::optional<std::string> profile;  // none: --noprofile, and files are confined by our plan
  std::vector<std::string> read_dirs;  // besides the workspace
  std::vector<std::string> write_dirs;
  bool read_dirs_named = false;  // false: the defaults, of which a missing one is skipped
  std::vector<std::string> extra_args;
  Network network = Network::kDeny;
  EnvironmentPolicy environment;
  std::vector<std::string> required;
};

// What a local (unconfined) runner was made with.
struct LocalPolicy {
  std::string shadow_dir;
  EnvironmentPolicy environment;
};

// /usr, /bin, /lib, /lib64, /etc.
const std::vector<std::string>& DefaultRoBinds();

// /usr, /lib, /lib64, /etc, /bin, /sbin, /tmp; and /tmp.
const std::vector<std::string>& DefaultReadDirs();
const std::vector<std::string>& DefaultWriteDirs();

// /usr, /lib, /lib64, /etc, /bin, /sbin: /tmp is private.
const std::vector<std::string>& DefaultFirejailReadDirs();

}  // namespace native_runner
