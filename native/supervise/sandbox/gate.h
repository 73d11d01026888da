#pragma once

#include <string>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Holds a spawned child back until it has been put into its cgroup: writing `bytes` lets it go.
struct Gate {
  Descriptor descriptor;
  std::string bytes;
};

}  // namespace native_runner
