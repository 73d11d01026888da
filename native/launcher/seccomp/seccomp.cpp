#include "launcher/seccomp/seccomp.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "launcher/kernel/calls.h"
#include "launcher/seccomp/kernel_numbers.h"
#include "launcher/seccomp/rename_listener.h"
#include "launcher/seccomp/rename_rows.h"
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

constexpr sock_filter kToldProgram[] = {
#include "launcher/seccomp/told_program.inc"
};

constexpr sock_filter kOwnProcessToldProgram[] = {
#include "launcher/seccomp/own_process_told_program.inc"
};

constexpr auto kToldWithRenames = WithRenames(kToldProgram);
constexpr auto kOwnProcessToldWithRenames = WithRenames(kOwnProcessToldProgram);

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

long InstallTold(std::uint32_t flags, bool with_renames) {
  const bool sees_others = SeesOthers(flags);
  std::span<const sock_filter> program = kToldProgram;
  if (sees_others) program = kOwnProcessToldProgram;
  if (with_renames) {
    program = sees_others ? std::span<const sock_filter>(kOwnProcessToldWithRenames)
                          : std::span<const sock_filter>(kToldWithRenames);
  }
  const long listener = ListenTo(program, with_renames);
  if (listener < 0 || (flags & kOrderNoSockets) == 0) return listener;
  const long result = Install(kNoSocketsProgram);
  if (result == 0) return listener;
  kernel::Close(static_cast<int>(listener));
  return result;
}

long InstallSeccomp(std::uint32_t flags) {
  const long result = SeesOthers(flags) ? Install(kOwnProcessProgram) : Install(kProgram);
  const bool no_sockets = (flags & kOrderNoSockets) != 0;
  return result != 0 || !no_sockets ? result : Install(kNoSocketsProgram);
}

}  // namespace native_runner
