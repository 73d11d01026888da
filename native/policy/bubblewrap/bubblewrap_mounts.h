#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/policy.h"

namespace native_runner {

// Plans the read-only binds of a policy, and the masks over secrets in them, as bwrap's mounts.

// Returns the policy's list, or the five defaults if it gives none.
const std::vector<std::string>& RoBindsOf(const BubblewrapPolicy& policy);

// Plans the binds in the given order. Leaves out a default that the host lacks. A link whose target
// another bind shows becomes a link again; any other link is bound as the directory that it leads
// to.
std::vector<Mount> PlanRoBinds(const BubblewrapPolicy& policy, const HostFacts& facts);

// Plans masks for the host's secrets that `binds` (as planned above, or by PlanHostMounts) would
// show, wherever they appear.
std::vector<Mount> PlanMasks(const std::vector<Mount>& binds, const HostFacts& facts);

// The policy's mounts as bwrap's, each list in the policy's order. Mounts in the workspace come
// after it, since it would hide them.
struct HostMounts {
  std::vector<Mount> outside;
  std::vector<Mount> in_workspace;
};

// `first_descriptor` belongs to the policy's first mount, the next ones to its other mounts. -1:
// all mounts go by path.
HostMounts PlanHostMounts(const BubblewrapPolicy& policy, const HostFacts& facts,
                          int first_descriptor);

// The place of one of the policy's mounts, inside a host directory that an earlier step of the plan
// has mounted. It must exist before bwrap runs, because bwrap would make it on the host.
struct MountPoint {
  enum class Base { kReadOnlyBind, kMount, kWorkspaceBind };
  std::size_t mount = 0;  // index of the policy's mount
  Base base = Base::kReadOnlyBind;
  std::size_t base_mount = 0;  // kMount: index of the policy's mount
  std::string base_path;       // on the host
  std::string below;           // relative to the base; empty: the base itself
  bool may_make = false;       // a missing place may be made for as long as the sandbox lasts
};
std::vector<MountPoint> FindMountPoints(const BubblewrapPlan& plan,
                                        const std::string& workspace = kWorkspace);

// The files that direct name look-ups. In a sandbox whose network is by domain they lead only to
// the resolver on its loopback, whatever the host uses.

inline constexpr const char* kResolverFile = "/etc/resolv.conf";
inline constexpr const char* kHostsFile = "/etc/hosts";
inline constexpr const char* kSwitchFile = "/etc/nsswitch.conf";

// Returns a resolv.conf(5) with one server, and a timeout long enough for a person to answer a
// question.
std::string ResolverText();

// Returns a hosts(5) with the names of the loopback and of the machine, which programs sometimes
// look up. Leaves the machine's name out if it is not a plain name.
std::string HostsText(std::string_view machine);

// Returns `text`, the host's nsswitch.conf(5), with names looked up only in these files and by the
// resolver. Returns a complete file if `text` is empty.
std::string SwitchText(std::string_view text);

// Plans the mounts that show `files`, read-only. `for_all`: users other than the owner can read
// them too.
std::vector<Mount> PlanNameFiles(const std::vector<NameFile>& files, bool for_all);

// The result of looking up a path in a sandbox.
struct InsidePath {
  std::string path;          // inside, with all links followed
  std::string host;          // the host path shown there; empty: the sandbox's own file
  bool is_there = false;     // on the host; unknown for the sandbox's own files
  bool is_writable = false;  // it is the host's, and commands may write to it
};

// The host's entry at a path. Links in the path are followed, except one at its end.
struct HostEntry {
  bool is_there = false;
  std::string link;  // the link's text; empty: not a link
};
using LookAtHost = std::function<HostEntry(const std::string& path)>;

// Follows `path` through `mounts`, of which a later one hides an earlier one, and along the host's
// links, as programs inside will. Returns nullopt if links form a circle.
std::optional<InsidePath> FollowInside(std::string_view path, const std::vector<Mount>& mounts,
                                       const LookAtHost& look);

}  // namespace native_runner
