#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

namespace native_runner {

// Whether a process of ours can be listened to as ListenToRenames does: from Linux 5.19 on, and
// only where nobody listens to us that way already. For a process with no_new_privs.
bool CanListenToRenames();

// landlock_restrict_self(2).
inline constexpr int kConfineCall = 446;

// Puts a program on the calling process, for good, as a filter with a listener: its descriptor,
// close-on-exec, or -errno. `waits_killable`: once a call was received, only the caller's death
// ends its wait.
long ListenTo(std::span<const sock_filter> program, bool waits_killable);

// Puts a filter on the calling process, for good, by which each of its calls that rename, or put it
// into a Landlock domain, waits for an answer of whoever has the descriptor that this returns,
// close-on-exec (seccomp_unotify(2)); or returns -errno. The other filters of rules.h go before it:
// what they refuse is refused, and so is each call by another architecture's rules. Once a call was
// received, only the caller's death ends its wait: a signal would have it made anew while the first
// is under way.
long ListenToRenames();

// A call that rules.h refuses, not quietly, and how.
struct RefusedCall {
  int number = -1;
  const char* name = nullptr;
  int error = 0;
  int argument = 0;  // the index of the one that says what it was for
};

// nullptr: no rule refuses any call of this number, or does so quietly.
const RefusedCall* FindRefusedCall(int number);

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
long InstallReporting(std::uint32_t flags, bool with_renames);

}  // namespace native_runner
