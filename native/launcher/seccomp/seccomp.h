#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

namespace native_runner {

// The filter that seccomp/generate.cpp made of seccomp/rules.h while building.
std::span<const sock_filter> SeccompProgram();

// Puts it on the calling process for good, as these flags of the order ask for it: with
// kOrderSession, or kOrderScoped without kOrderIsInit, one that also keeps the caller from setting
// limits and priorities of others; with kOrderNoSockets, the filter that refuses sockets on top of
// it. Needs no_new_privs (or CAP_SYS_ADMIN). Returns 0 or -errno.
long InstallSeccomp(std::uint32_t flags);

}  // namespace native_runner
