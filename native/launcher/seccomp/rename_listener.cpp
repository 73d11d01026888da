#include "launcher/seccomp/rename_listener.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>

#include "launcher/kernel/calls.h"
#include "launcher/seccomp/rename_rows.h"

// Linux 5.19.
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace native_runner {
namespace {

constexpr sock_filter kAllow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
constexpr auto kRenameProgram = WithRenames(kAllow);

constexpr unsigned long kFlags =
    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

int Try(void* argument) {
  *static_cast<long*>(argument) = ListenToRenames();
  return 0;
}

// As a listener can be told from no listener only by making another one.
bool HasNoListener() {
  if (kernel::Prctl(PR_GET_SECCOMP) == 0) return true;
  constexpr std::size_t kStackBytes = 4096;
  alignas(16) char stack[kStackBytes];  // NOLINT(cppcoreguidelines-pro-type-member-init): untouched
  long result = -EAGAIN;
  const long pid =
      kernel::Clone(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + sizeof stack, Try, &result);
  if (pid > 0) kernel::Wait(static_cast<pid_t>(pid), nullptr, 0);
  return result >= 0;
}

}  // namespace

bool CanListenToRenames() {
  // Flags are looked at first, then the program.
  const long result = kernel::Call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, nullptr);
  return result == -EFAULT && HasNoListener();
}

long ListenTo(std::span<const sock_filter> program, bool waits_killable) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  return kernel::Call(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      waits_killable ? kFlags : SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

long ListenToRenames() {
  return ListenTo(kRenameProgram, true);
}

}  // namespace native_runner
