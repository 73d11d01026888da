#pragma once

#include <string_view>

#include "effects/tree/beneath.h"

namespace native_runner {

// rename(2): what `to` names is replaced, a link is renamed itself. EBUSY for the workspace's top.
FileResult<Done> RenameEntry(const Beneath& root, std::string_view from, std::string_view to);

}  // namespace native_runner
