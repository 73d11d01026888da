#pragma once

#include "launcher/text/refusal.h"

namespace native_runner {

// Opens the directory that a step names as DEVICE:INODE:PATH, without following a link at its end,
// where that is the one: a path may lead elsewhere by now. O_PATH, close-on-exec; -1 with a
// refusal.
int OpenNamed(const char* file, Refusal* refusal);

// How a call that takes paths alone is given what is open as `descriptor`, in as few characters as
// can be, and without one that needs an escape (proc_pid_fd(5)).
using DescriptorPath = FixedText<32>;
DescriptorPath PathOf(int descriptor);

}  // namespace native_runner
