#pragma once

#include "effects/tree/file_stat.h"

namespace native_runner {

// Locks an open file for this descriptor alone, without waiting; false: somebody else has it
// locked, or this process by another descriptor. The lock goes with the descriptor, however the
// process ends (flock(2)). Any thread.
FileResult<bool> LockFile(int fd);

}  // namespace native_runner
