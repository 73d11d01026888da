#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"

namespace native_runner {

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

}  // namespace native_runner
