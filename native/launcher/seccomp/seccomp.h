#pragma once

#include <linux/filter.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace native_runner {

// True if ListenToRenames() works here: since Linux 5.19, and only if the launcher itself has no
// listener yet. Needs no_new_privs.
bool CanListenToRenames();

// Number of landlock_restrict_self(2).
inline constexpr int kConfineCall = 446;

// Puts a program on the calling process, for good, as a filter with a listener. Returns the
// listener's descriptor, close-on-exec, or -errno. `waits_killable`: once a call was received, only
// the caller's death ends its wait.
long ListenTo(std::span<const sock_filter> program, bool waits_killable);

// Puts a filter on the calling process, for good, that makes each call that renames, or that enters
// a Landlock domain, wait for an answer through the returned descriptor, close-on-exec
// (seccomp_unotify(2)). Returns -errno on failure. The other filters of rules.h take precedence:
// calls that they refuse stay refused, and so does each call by another architecture's rules. Once
// a call was received, only the caller's death ends its wait: a signal would repeat the call while
// the first is under way.
long ListenToRenames();

// A call that rules.h refuses, unless quietly, and its error.
struct RefusedCall {
  int number = -1;
  const char* name = nullptr;
  int error = 0;
  int argument = 0;  // index of the argument that is reported
};

// Error of a call of socket(2) for the internet, which only the filter of kOrderNoSockets refuses.
inline constexpr int kNoInternetError = EACCES;

// Returns nullptr if no rule refuses calls of this number, or if the rule is quiet.
const RefusedCall* FindRefusedCall(int number);

// Returns the filter that seccomp/generate.cpp made from seccomp/rules.h at build time.
std::span<const sock_filter> SeccompProgram();

// Puts the filter on the calling process, for good, as these flags of the order ask for it: with
// kOrderSession, or kOrderScoped without kOrderIsInit, a variant that also keeps the caller from
// setting limits and priorities of other processes; with kOrderNoSockets, also the filter that
// refuses sockets. Needs no_new_privs (or CAP_SYS_ADMIN). Returns 0 or -errno.
long InstallSeccomp(std::uint32_t flags);

// As InstallSeccomp(), but refused calls, unless quiet, wait for an answer through the returned
// descriptor, close-on-exec (seccomp_unotify(2)). With `with_renames`, also the calls of
// ListenToRenames(). -errno: nothing was installed, for want of a listener (an older kernel, or an
// existing listener), or not all of it.
long InstallReporting(std::uint32_t flags, bool with_renames);

}  // namespace native_runner
