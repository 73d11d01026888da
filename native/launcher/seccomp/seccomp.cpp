#include "launcher/seccomp/seccomp.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr sock_filter kProgram[] = {
#include "launcher/seccomp/program.inc"
};

constexpr sock_filter kNoSocketsProgram[] = {
#include "launcher/seccomp/no_sockets_program.inc"
};

long Install(std::span<const sock_filter> program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  return kernel::Control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                         reinterpret_cast<unsigned long>(&filter));
}

}  // namespace

std::span<const sock_filter> SeccompProgram() {
  return kProgram;
}

long InstallSeccomp(bool no_sockets) {
  const long result = Install(kProgram);
  return result != 0 || !no_sockets ? result : Install(kNoSocketsProgram);
}

}  // namespace native_runner
