#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/result.h"
#include "protocol/report.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Has the launcher at `path` take the steps (protocol/step.h), and waits until it has ended. Gives
// what they made, in their order: namespaces live on by these descriptors alone. kUnavailable, with
// the step's own words, where the kernel refuses one.
//
// `given`: descriptors that steps name, the first as kFirstGiven, the others in their order. Blocks
// the calling thread, for some 3 ms where nothing is in the way. Any thread.
inline constexpr int kFirstGiven = kControlDescriptor + 1;
Result<std::vector<Descriptor>> MakeNamespaces(const std::string& path,
                                               std::span<const std::string> steps,
                                               std::span<const int> given = {});

}  // namespace native_runner
