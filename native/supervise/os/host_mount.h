#pragma once

#include <string>
#include <vector>

#include "policy/options/host_mount.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// What a mount shows, as it was when the run started: pinned, as the workspace is.
struct OpenedMount {
  Descriptor file;   // O_PATH
  std::string path;  // the real one
  bool is_directory = false;
};

// One for each mount, symbolic links followed. kSetup, naming the field, where there is nothing, or
// what is neither a directory nor a regular file: behind a FIFO, a socket or a device is somebody
// whom no mode of a mount keeps apart. The same for a writable mount of the kernel's own file
// systems (proc(5), sysfs(5)), through which root could change the host.
Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts);

}  // namespace native_runner
