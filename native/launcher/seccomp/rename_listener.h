#pragma once

#include <linux/filter.h>

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

}  // namespace native_runner
