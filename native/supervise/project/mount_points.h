#pragma once

#include <vector>

#include "policy/bubblewrap/host_mounts.h"
#include "policy/options/host_mount.h"
#include "policy/result.h"
#include "supervise/os/host_mount.h"
#include "supervise/os/workspace.h"
#include "supervise/project/placeholder.h"

namespace native_runner {

// Sees to it that the mounts of a policy have a place, so that bwrap makes none on the host and
// follows no link there. What does not exist is held by a placeholder, which is gone with the last
// sandbox that needs it; `plan_only`: by none. kSetup, naming the mount, for a place along a
// symbolic link, which a command may have made; for one of another type than what is mounted there;
// and for one that is missing where nothing may be made, or whose directory is missing too.
Result<std::vector<Placeholder>> HoldMountPoints(const std::vector<MountPoint>& points,
                                                 const std::vector<HostMount>& mounts,
                                                 const std::vector<OpenedMount>& opened,
                                                 const Workspace& workspace, bool plan_only);

}  // namespace native_runner
