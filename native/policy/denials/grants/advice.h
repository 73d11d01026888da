#pragma once

#include <string>

#include "policy/options/request.h"

namespace native_runner {

// Why a path of the host's is not to be granted, as a clause; empty: it may be. `path` is real.
std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists);

}  // namespace native_runner
