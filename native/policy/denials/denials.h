#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/denials/observation.h"
#include "policy/network/network_rules.h"
#include "policy/options/home.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "policy/run/outcome.h"

namespace native_runner {

// The part of a sandbox that refused an access.
enum class DeniedBy { kBubblewrap, kLandlock, kFirejail, kSeccomp, kNetwork, kLimits };

// Returns "bubblewrap", "landlock", "firejail", "seccomp", "network" or "limits".
const char* DeniedByName(DeniedBy by);

// The smallest permission that would have allowed a refused access: an option of the runner or a
// limit of the call, with the value to add to it.
struct Grant {
  enum class Kind {
    kNone,
    kMount,    // `mounts`: host_path at guest_path
    kPath,     // an option that is a list of host paths: host_path
    kText,     // another list, or a mode: text
    kList,     // a list of texts: text
    kNumber,   // limits: number
    kBoolean,  // number != 0
  };
  Kind kind = Kind::kNone;
  std::string option = {};  // "mounts", "fsReadDirs", "network.allow", "limits.memoryBytes"
  std::string host_path = {};
  std::string guest_path = {};
  bool writable = false;
  std::string text = {};
  std::uint64_t number = 0;

  bool operator==(const Grant&) const = default;
};

// One access, or several equal ones, that the sandbox refused. A plain value; types/denials.d.ts
// describes the fields.
struct Denial {
  const char* kind = "other";  // "read", "write", "exec", "connect", "resolve", "other"
  std::string operation;
  std::string path;
  std::string host_path;
  std::string host;
  std::uint16_t port = 0;
  std::string program;
  std::string error;  // errno's name, or empty
  DeniedBy by = DeniedBy::kBubblewrap;
  std::uint64_t count = 1;
  Grant grant;
  std::string not_advised;  // why there is no grant, as a clause; empty if there is one
};

inline constexpr std::size_t kMostDenials = 256;

struct DenialLog {
  std::vector<Denial> denials;
  std::uint64_t omitted = 0;
};

// The parts of a sandbox that explain a refusal. Made with a run's plan; a plain value.
struct DenialScene {
  enum class Wall { kBubblewrap, kProject, kLandlock, kFirejail, kNone };
  Wall wall = Wall::kNone;
  std::vector<Mount> mounts = {};           // of the first two walls: bwrap's, in order
  std::vector<std::string> rules = {};      // Landlock's, in the order's form (protocol/order.h)
  std::string workspace_path = kWorkspace;  // the workspace's, inside
  std::string workspace = {};               // on the host
  std::string home = {};  // on the host, of the commands'; empty: it has none there
  std::string root = {};  // on the host, of an own root file system; empty: they see the host's
  std::vector<HiddenTools> hidden = {};
  bool may_write_workspace = true;
  Network network = Network::kDeny;
};

// The host's file at a path, as the user of the command sees it. Links are followed.
struct HostLookup {
  enum class Type { kNone, kFile, kDirectory, kOther };
  Type type = Type::kNone;
  std::string link;  // the link's text; empty: not a link
  std::string real;  // with all links followed; empty: not there
  bool readable = false;
  bool writable = false;
  bool executable = false;

  bool is_there() const { return type != Type::kNone; }
};
// Looks a path up on the host. Looks at a bounded number of paths and reports every further one as
// missing.
using LookAtHostPath = std::function<HostLookup(const std::string& path)>;

// One run, with the accesses that it was refused.
struct DeniedRun {
  std::shared_ptr<const DenialScene> scene;  // null: it had no sandbox
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  Limits limits;
  bool explain = false;
  std::shared_ptr<const AdviceLists> advice;  // set if explain is
  bool is_root = false;                       // uid 0; the commands have no capabilities
  Outcome outcome;
  std::vector<Observation> observations = {};
  std::uint64_t observations_omitted = 0;
  const ConnectionLog* connections = nullptr;  // may be null
};

// Returns the accesses that the sandbox denied to a run, in the order of first occurrence, each
// with the smallest grant. Leaves out errors that the command would have met on the host too, and
// files that programs look for by themselves (Probes). Calls `look` with `explain` only. Pure.
DenialLog ReportDenials(const DeniedRun& run, const LookAtHostPath& look);

// True if ReportDenials needs to look at the host's files. Most commands are refused nothing.
bool NeedsLook(const DeniedRun& run);

// Files that only root can read on common distributions. A command started by root is uid 0 too, so
// it could otherwise read them through a bound /etc.
inline constexpr std::array<std::string_view, 8> kSecretFiles = {
    "/etc/shadow",    "/etc/shadow-",     "/etc/gshadow",          "/etc/gshadow-",
    "/etc/sudoers",   "/etc/krb5.keytab", "/etc/security/opasswd",
    "/etc/.pwd.lock",  // a lock on it holds up the host's passwd(1), useradd(8) and the like
};
inline constexpr std::array<std::string_view, 6> kSecretDirectories = {
    "/etc/sudoers.d", "/etc/ssl/private",         "/etc/NetworkManager/system-connections",
    "/etc/wireguard", "/etc/letsencrypt/archive", "/etc/letsencrypt/accounts",
};
// The host's SSH keys as a pattern of glob(3), and how their paths begin.
inline constexpr const char* kHostKeys = "/etc/ssh/*_key";
inline constexpr std::string_view kHostKeysBefore = "/etc/ssh/ssh_host_";

// Returns why a host path must not be granted, as a clause; empty if it may be. `path` is real.
std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists);

// Returns the repository whose directory for a linked worktree or a submodule `path` is in; empty
// if it is in none. Git reads both, and looks there only as the `.git` of a working tree says so
// (gitrepository-layout(5)).
std::string RepositoryOf(const std::string& path);

// Reduces the grants of paths to as few as possible without granting more than needed: the
// directory if several of its own files are granted and the directory may be granted; a grant that
// another one covers is replaced by that one. For a path in RepositoryOf the repository is granted,
// if it may be.
void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials);

// Returns the entries of the PATH variable in an environment that are absolute.
std::vector<std::string> SearchPathOf(const std::vector<std::string>& environment);

// Returns the names that a run seems to have looked for along its PATH without finding them, each
// once, as refused executions: `path` is the name, `call` and `program` are those of the look. They
// are the run's own program; what was executed or looked at in directories of PATH; and, as shells
// look for programs without executing them, the words of a command that ended with 127. Some may be
// no programs at all. Pure.
std::vector<Observation> MissingPrograms(const DeniedRun& run);

// True if the run ended as one whose program was not found does.
bool EndedAsMissing(const DeniedRun& run);

}  // namespace native_runner
