#pragma once

#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/project/placeholder.h"

namespace native_runner {

// The source of a mount, pinned when the run started, as the workspace is.
struct OpenedMount {
  Descriptor file;   // O_PATH
  std::string path;  // with links resolved
  bool is_directory = false;
};

// Opens the source of each mount, following symbolic links. kSetup, naming the field, if the source
// is missing or neither a directory nor a regular file: behind a FIFO, a socket or a device is a
// process that no mount mode isolates. kSetup also for a writable mount of the kernel's own file
// systems (proc(5), sysfs(5)), through which root could change the host.
Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts);

// Ensures that the mount points of a policy exist, so that bwrap makes none on the host and follows
// no link. A placeholder takes the place of a missing one until the last sandbox that needs it
// ends; with `plan_only` none is made. kSetup, naming the mount, if a mount point is reached
// through a symbolic link, which a command may have made; if its type differs from the mount's; or
// if it is missing where none may be made, or its parent directory is missing too.
Result<std::vector<Placeholder>> HoldMountPoints(const std::vector<MountPoint>& points,
                                                 const std::vector<HostMount>& mounts,
                                                 const std::vector<OpenedMount>& opened,
                                                 const Workspace& workspace, bool plan_only);

}  // namespace native_runner
