#pragma once

#include <string_view>

#include "effects/tree/beneath.h"

namespace native_runner {

// Removes an entry; a link itself, never what it leads to. A directory that is not empty is
// ENOTEMPTY, or goes with all that it holds: also what its own modes keep us from, but nothing that
// is mounted there (EBUSY). EBUSY for the workspace's top too.
FileResult<Done> RemoveEntry(const Beneath& root, std::string_view relative, bool recursive);

}  // namespace native_runner
