#pragma once

#include <string>
#include <vector>

#include "policy/result.h"
#include "supervise/os/process.h"

namespace native_runner {

// As posix_spawn(3) with the properties of Child, but the new process first makes a mount namespace
// with read-only mounts of kDeviceNodes (protocol/order.h), in which it executes the program. Does
// without where the kernel permits no mount namespace. Returns the process' number; kSetup names
// the call that failed. `inherited`: no source is a number of the child.
Result<pid_t> SpawnGuarded(const std::string& path, const std::vector<char*>& argv,
                           const std::vector<Inherited>& inherited);

}  // namespace native_runner
