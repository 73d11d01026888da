#pragma once

#include <vector>

#include "policy/denials/denial.h"
#include "policy/options/request.h"

namespace native_runner {

// Makes the grants of paths as few as they can be without being larger than what was asked for:
// the directory where several of its own files were, where that may be granted; and what another
// grant brings along is that one.
void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials);

}  // namespace native_runner
