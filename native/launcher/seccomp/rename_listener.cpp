#include "launcher/seccomp/rename_listener.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>

#include "launcher/kernel/calls.h"

// Linux 5.19.
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace native_runner {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
constexpr unsigned kRename = SYS_rename;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
constexpr unsigned kRename = SYS_renameat;  // there is no other
#endif

constexpr sock_filter kProgram[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kRename, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kConfineCall, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

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

long ListenToRenames() {
  const sock_fprog filter{sizeof kProgram / sizeof *kProgram, const_cast<sock_filter*>(kProgram)};
  return kernel::Call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &filter);
}

}  // namespace native_runner
