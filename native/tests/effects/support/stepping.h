#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>

namespace native_runner {

// The system calls by which a process changes files, or makes changes last.
inline bool ChangesFiles(std::uint64_t number) {
  constexpr auto kCalls = std::to_array<long>({
      SYS_renameat2, SYS_renameat, SYS_mkdirat,   SYS_unlinkat,     SYS_write,
      SYS_fsync,     SYS_syncfs,   SYS_fchmod,    SYS_fchmodat,     SYS_fchownat,
      SYS_fchown,    SYS_mknodat,  SYS_fsetxattr, SYS_fremovexattr, SYS_removexattr,
#ifdef SYS_chmod
      SYS_chmod,     SYS_chown,    SYS_mkdir,     SYS_rename,       SYS_unlink,
#endif
  });
  return std::find(kCalls.begin(), kCalls.end(), static_cast<long>(number)) != kCalls.end();
}

struct Stepped {
  bool is_traced = false;    // false: this process may trace none
  bool was_reached = false;  // there was a call of this number
  int status = 0;            // as waitpid(2) has it
};

// Runs `body` in a process of its own, which stops before its `step`th call that changes files (the
// first is 1) and has made those before it. There `at` is called; it may kill the process.
inline Stepped RunToStep(const std::function<void()>& body, int step,
                         const std::function<void(pid_t)>& at) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    body();
    _exit(0);
  }
  Stepped stepped;
  waitpid(child, &stepped.status, 0);
  if (!WIFSTOPPED(stepped.status)) return stepped;
  stepped.is_traced = true;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  int seen = 0;
  while (WIFSTOPPED(stepped.status)) {
    struct __ptrace_syscall_info info {};
    const int kSyscallStop = SIGTRAP | 0x80;
    if (WSTOPSIG(stepped.status) == kSyscallStop &&
        ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) > 0 &&
        info.op == PTRACE_SYSCALL_INFO_ENTRY && ChangesFiles(info.entry.nr) && ++seen == step) {
      stepped.was_reached = true;
      at(child);
    }
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 && errno != ESRCH) break;
    waitpid(child, &stepped.status, 0);
  }
  return stepped;
}

inline void Kill(pid_t process) {
  kill(process, SIGKILL);
}

}  // namespace native_runner
