#pragma once

#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/os/workspace.h"

namespace native_runner {

// The directory that transactions lie in, made with all that is missing above it (0700). An
// absolute path. kSetup, naming `directory`, where it can't be had, is another user's, or others
// may write to it: who can plant files there could have them committed.
Result<Workspace> OpenStateDirectory(const std::string& path);

// The same of one that is there, and nothing is made; nullopt: there is none.
Result<std::optional<Workspace>> FindStateDirectory(const std::string& path);

}  // namespace native_runner
