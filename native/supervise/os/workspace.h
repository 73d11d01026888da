#pragma once

#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// The workspace directory as it was when the run started: pinned by a descriptor, so that what was
// checked is what gets mounted, and its real path (symbolic links resolved) for the record.
struct Workspace {
  Descriptor directory;  // O_PATH
  std::string path;
};

// kSetup, naming `shadowDir`, when it is not a directory that can be reached.
Result<Workspace> OpenWorkspace(const std::string& shadow_dir);

}  // namespace native_runner
