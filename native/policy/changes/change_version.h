#pragma once

#include <string>

#include "policy/changes/change.h"

namespace native_runner {

// A text that another state of the same path does not have: contents, mode or owner of a file or
// link; of a directory its mode, since its times change with what is in it.
std::string VersionOf(const Change& change);

}  // namespace native_runner
