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

// The read-only binds of a policy and what must be hidden in them, as bwrap's mounts.

// The policy's list; the five defaults when none was given.
const std::vector<std::string>& RoBindsOf(const BubblewrapPolicy& policy);

// Binds in the given order. A default that the host lacks is left out; a link whose target another
// bind brings along becomes a link again, any other link is bound as what it leads to.
std::vector<Mount> PlanRoBinds(const BubblewrapPolicy& policy, const HostFacts& facts);

// Masks for the host's secrets that `binds` (as planned above, or as PlanHostMounts does) would
// show, wherever they appear.
std::vector<Mount> PlanMasks(const std::vector<Mount>& binds, const HostFacts& facts);

// The mounts that a policy names, as bwrap's; each list in the policy's order. Those in the
// workspace come after it, since it would hide them.
struct HostMounts {
  std::vector<Mount> outside;
  std::vector<Mount> in_workspace;
};

// `first_descriptor`: of the policy's first mount, the others follow; -1: all by path.
HostMounts PlanHostMounts(const BubblewrapPolicy& policy, const HostFacts& facts,
                          int first_descriptor);

// The place of one of the policy's mounts, where that is in something of the host's which an
// earlier step of the plan has mounted. bwrap would make it there, so it must be there before.
struct MountPoint {
  enum class Base { kReadOnlyBind, kMount, kWorkspaceBind };
  std::size_t mount = 0;  // which of the policy's
  Base base = Base::kReadOnlyBind;
  std::size_t base_mount = 0;  // kMount: which of the policy's
  std::string base_path;       // on the host
  std::string below;           // relative to it; empty: it is the base itself
  bool may_make = false;       // what is not there may be made for as long as the sandbox lasts
};
std::vector<MountPoint> FindMountPoints(const BubblewrapPlan& plan);

// The files by which programs find names. In a sandbox whose network is by domain they lead to the
// resolver on its loopback, and nowhere else, whatever the host has.

inline constexpr const char* kResolverFile = "/etc/resolv.conf";
inline constexpr const char* kHostsFile = "/etc/hosts";
inline constexpr const char* kSwitchFile = "/etc/nsswitch.conf";

// resolv.conf(5): one server, with time enough for a person to be asked.
std::string ResolverText();

// hosts(5): the loopback's own name, and the machine's, which programs ask for at times; not where
// that is no plain name.
std::string HostsText(std::string_view machine);

// nsswitch.conf(5): `text`, the host's, but with names from these files and the resolver alone; a
// whole one where it is empty.
std::string SwitchText(std::string_view text);

// The mounts that show `files`, read-only. `for_all`: also to who is another user inside.
std::vector<Mount> PlanNameFiles(const std::vector<NameFile>& files, bool for_all);

// Where a path leads that is looked up in a sandbox.
struct InsidePath {
  std::string path;          // inside, behind all links
  std::string host;          // what of the host's is there; empty: the sandbox's own
  bool is_there = false;     // on the host; of the sandbox's own nothing is known
  bool is_writable = false;  // it is the host's, and commands may write to it
};

// What the host has at a path of its own, which may go by links but does not end in one.
struct HostEntry {
  bool is_there = false;
  std::string link;  // the text of a link; empty: it is none
};
using LookAtHost = std::function<HostEntry(const std::string& path)>;

// Follows `path` through `mounts`, of which a later one hides an earlier one, as programs inside
// will, along the host's own links. nullopt: links lead in circles.
std::optional<InsidePath> FollowInside(std::string_view path, const std::vector<Mount>& mounts,
                                       const LookAtHost& look);

}  // namespace native_runner
