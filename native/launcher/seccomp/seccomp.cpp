#include "launcher/seccomp/seccomp.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "launcher/kernel/calls.h"
#include "launcher/seccomp/rules.h"
#include "protocol/order.h"

// Since Linux 5.19.
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace native_runner {
namespace {

#if defined(__x86_64__)
constexpr unsigned kOwnArchitecture = AUDIT_ARCH_X86_64;
constexpr unsigned kFirstRename = SYS_rename;
#else
constexpr unsigned kOwnArchitecture = AUDIT_ARCH_AARCH64;
constexpr unsigned kFirstRename = SYS_renameat;  // the first of this architecture
#endif

// Make a call that renames, or that confines by Landlock, wait for a listener's answer; the rows
// that follow decide all other calls. Jumps are relative.
constexpr sock_filter kRenameRows[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnArchitecture, 0, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFirstRename, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kConfineCall, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

// The same for a call that makes a socket of the internet.
constexpr sock_filter kInternetRows[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnArchitecture, 0, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),  // the kernel takes an int
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

template <std::size_t kHead, std::size_t kRest>
constexpr auto Joined(const sock_filter (&head)[kHead],
                      const std::array<sock_filter, kRest>& rest) {
  std::array<sock_filter, kHead + kRest> rows{};
  std::copy(rest.begin(), rest.end(), std::copy(head, head + kHead, rows.begin()));
  return rows;
}

constexpr sock_filter kAllow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
constexpr auto kRenameProgram = Joined(kRenameRows, std::to_array(kAllow));

constexpr unsigned long kFlags =
    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

int Try(void* argument) {
  *static_cast<long*>(argument) = ListenToRenames();
  return 0;
}

// True if the process has no listener; only an attempt to make another one shows that.
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
  // The kernel checks the flags before the program.
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

namespace {

constexpr RefusedCall kRefusedCalls[] = {
#include "launcher/seccomp/told_calls.inc"
};

}  // namespace

const RefusedCall* FindRefusedCall(int number) {
  for (const RefusedCall& call : kRefusedCalls)
    if (call.number == number) return &call;
  return nullptr;
}

namespace {

constexpr sock_filter kProgram[] = {
#include "launcher/seccomp/program.inc"
};

constexpr sock_filter kNoSocketsProgram[] = {
#include "launcher/seccomp/no_sockets_program.inc"
};

constexpr sock_filter kNoOtherSocketsProgram[] = {
#include "launcher/seccomp/no_other_sockets_program.inc"
};

constexpr sock_filter kOwnProcessProgram[] = {
#include "launcher/seccomp/own_process_program.inc"
};

constexpr sock_filter kReportingProgram[] = {
#include "launcher/seccomp/told_program.inc"
};

constexpr sock_filter kOwnProcessReportingProgram[] = {
#include "launcher/seccomp/own_process_told_program.inc"
};

constexpr auto kReportingWithRenames = Joined(kRenameRows, std::to_array(kReportingProgram));
constexpr auto kOwnProcessReportingWithRenames =
    Joined(kRenameRows, std::to_array(kOwnProcessReportingProgram));
constexpr auto kReportingInternet = Joined(kInternetRows, std::to_array(kReportingProgram));
constexpr auto kOwnProcessReportingInternet =
    Joined(kInternetRows, std::to_array(kOwnProcessReportingProgram));
constexpr auto kReportingAll = Joined(kInternetRows, kReportingWithRenames);
constexpr auto kOwnProcessReportingAll = Joined(kInternetRows, kOwnProcessReportingWithRenames);

// True if the command sees processes other than its own: commands of a session see each other and
// the launchers; a command confined by Landlock without a pid namespace sees the host's processes.
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

namespace {

// Indexed by whether renames are listened to, and sockets of the internet.
using ReportingPrograms = std::span<const sock_filter>[2][2];
constexpr ReportingPrograms kReporting = {{kReportingProgram, kReportingInternet},
                                          {kReportingWithRenames, kReportingAll}};
constexpr ReportingPrograms kOwnProcessReporting = {
    {kOwnProcessReportingProgram, kOwnProcessReportingInternet},
    {kOwnProcessReportingWithRenames, kOwnProcessReportingAll}};

}  // namespace

long InstallReporting(std::uint32_t flags, bool with_renames) {
  const bool no_sockets = (flags & kOrderNoSockets) != 0;
  const auto& programs = SeesOthers(flags) ? kOwnProcessReporting : kReporting;
  const long listener = ListenTo(programs[with_renames ? 1 : 0][no_sockets ? 1 : 0], with_renames);
  if (listener < 0 || !no_sockets) return listener;
  const long result = Install(kNoOtherSocketsProgram);
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
