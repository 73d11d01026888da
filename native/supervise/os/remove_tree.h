#pragma once

#include <optional>
#include <string>

#include "policy/result.h"

namespace native_runner {

// Removes the directory entry `name` of `parent` (a directory's descriptor) with all below it,
// however deep; a link is removed, not followed, and nothing on another file system is touched.
// Directories that forbid it are made to allow it first. Nobody else may change the tree meanwhile.
// An entry that is not there is no error. Any thread; as long as it takes.
std::optional<Error> RemoveTree(int parent, const std::string& name);

}  // namespace native_runner
