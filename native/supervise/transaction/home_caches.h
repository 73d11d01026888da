#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/options/home.h"
#include "policy/result.h"
#include "supervise/transaction/mounted_workspace.h"

namespace native_runner {

// Mounts the host's package caches for the sandboxes of a kept home: what their commands write is
// kept in `directory`, one directory a cache. All sandboxes of this process that want the same
// caches share the overlays, as no two overlays may have one upper layer.
//
// Returns the overlays, as a workspace without one, to be shared until the sandbox has ended;
// nullptr while another process has them, or sandboxes with other caches. kUnavailable if they
// can't be mounted. Blocks like MakeNamespaces. Any thread.
Result<std::shared_ptr<const MountedWorkspace>> ShareHomeCaches(
    const std::string& launcher, const std::string& directory,
    const std::vector<ShownCache>& caches);

}  // namespace native_runner
