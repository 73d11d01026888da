#include "launcher/seccomp/seccomp.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "launcher/kernel/calls.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

constexpr sock_filter kProgram[] = {
#include "launcher/seccomp/program.inc"
};

constexpr sock_filter kNoSocketsProgram[] = {
#include "launcher/seccomp/no_sockets_program.inc"
};

constexpr sock_filter kOwnProcessProgram[] = {
#include "launcher/seccomp/own_process_program.inc"
};

// Commands of a session see each other and the launchers; one that is confined by Landlock without
// a pid namespace sees the host's processes.
bool SeesOthers(std::uint32_t flags) {
  const bool sees_host = (flags & kOrderScoped) != 0 && (flags & kOrderIsInit) == 0;
  return (flags & kOrderSession) != 0 || sees_host;
}

long Install(std::span<const sock_filter> program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  return kernel::Prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                       reinterpret_cast<unsigned long>(&filter));
}

}  // namespace

std::span<const sock_filter> SeccompProgram() {
  return kProgram;
}

long InstallSeccomp(std::uint32_t flags) {
  const long result = SeesOthers(flags) ? Install(kOwnProcessProgram) : Install(kProgram);
  const bool no_sockets = (flags & kOrderNoSockets) != 0;
  return result != 0 || !no_sockets ? result : Install(kNoSocketsProgram);
}

}  // namespace native_runner
