#pragma once

#include <sys/types.h>

#include <string_view>

#include "effects/tree/beneath.h"

namespace native_runner {

struct MakeRule {
  bool recursive = false;  // parents too, and a directory that is there is no fault
  mode_t mode = 0777;      // less umask(2)
};

// EEXIST where anything, or with `recursive` anything but a directory, has the name.
FileResult<Done> MakeDirectory(const Beneath& root, std::string_view relative, MakeRule rule);

}  // namespace native_runner
