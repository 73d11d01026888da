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

// The same, but that what is refused, unless it is quiet, waits for an answer of whoever has the
// descriptor that this returns, close-on-exec (seccomp_unotify(2)); with `with_renames`, also what
// ListenToRenames is for. -errno: nothing was installed, for want of a listener (an older kernel,
// or somebody listens already), or not all of it.
long InstallTold(std::uint32_t flags, bool with_renames);

}  // namespace native_runner
