#pragma once

#include <optional>
#include <string>

#include "policy/result.h"

namespace native_runner {

// Whether a bwrap, at an absolute path, can bind what a descriptor is, which an overlay needs:
// kUnavailable where its --help does not list that. One that does not answer is not the overlay's
// matter. Blocks for some 2 ms, five seconds at most. Any thread.
std::optional<Error> CheckBindFd(const std::string& path);

}  // namespace native_runner
