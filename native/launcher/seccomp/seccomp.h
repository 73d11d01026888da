#pragma once

#include <linux/filter.h>

#include <span>

namespace native_runner {

// The filter that seccomp/generate.cpp made of seccomp/rules.h while building.
std::span<const sock_filter> SeccompProgram();

// Puts it on the calling process for good, and with `no_sockets` the filter that refuses socket(2)
// on top of it; needs no_new_privs (or CAP_SYS_ADMIN). Returns 0 or -errno.
long InstallSeccomp(bool no_sockets);

}  // namespace native_runner
