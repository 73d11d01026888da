#pragma once

#include <elf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

namespace native_runner {

// The system calls by which a process changes files, or makes changes last.
inline bool ChangesFiles(std::uint64_t number) {
  constexpr auto kCalls = std::to_array<long>({
      SYS_renameat2,       SYS_renameat, SYS_mkdirat,   SYS_unlinkat,     SYS_write,
      SYS_fsync,           SYS_syncfs,   SYS_fchmod,    SYS_fchmodat,     SYS_fchownat,
      SYS_fchown,          SYS_mknodat,  SYS_fsetxattr, SYS_fremovexattr, SYS_removexattr,
      SYS_lremovexattr,    SYS_linkat,   SYS_symlinkat, SYS_ftruncate,    SYS_utimensat,
      SYS_copy_file_range,
#ifdef SYS_chmod
      SYS_chmod,           SYS_chown,    SYS_mkdir,     SYS_rename,       SYS_unlink,
#endif
  });
  return std::find(kCalls.begin(), kCalls.end(), static_cast<long>(number)) != kCalls.end();
}

// The system calls by which a process learns what files are.
inline bool LooksAtFiles(std::uint64_t number) {
  constexpr auto kCalls = std::to_array<long>({
      SYS_openat2,
      SYS_openat,
      SYS_faccessat,
#ifdef SYS_faccessat2
      SYS_faccessat2,
#endif
      SYS_statx,
      SYS_getdents64,
      SYS_readlinkat,
      SYS_pread64,
      SYS_flistxattr,
      SYS_fgetxattr,
  });
  return std::find(kCalls.begin(), kCalls.end(), static_cast<long>(number)) != kCalls.end();
}

// More calls than any of what is stepped through makes: where a loop ends if it never gets there.
inline constexpr int kMostSteps = 5000;

struct Stepped {
  bool is_traced = false;    // false: this process may trace none
  bool was_reached = false;  // there was a call of this number
  int status = 0;            // as waitpid(2) has it
};

// Which of a process' calls do not come to anything, and what they say instead.
struct Failure {
  int number = 0;           // errno
  int first = 0;            // of the calls that count; the first is 1
  bool is_lasting = false;  // all that come after it fail too
  bool (*counts)(std::uint64_t) = ChangesFiles;
};

// The registers in which a traced process has the number of its system call, and its result.
class CallRegisters {
 public:
  explicit CallRegisters(pid_t process) : process_(process) {
    iovec all = {&registers_, sizeof(registers_)};
    ptrace(PTRACE_GETREGSET, process_, NT_PRSTATUS, &all);
  }

  // Call it before the call is made: the call is skipped and returns this error.
  void Refuse(int error) {
    const auto answer = static_cast<unsigned long long>(-static_cast<long long>(error));
#if defined(__x86_64__)
    registers_.orig_rax = ~0ULL;
    registers_.rax = answer;
#elif defined(__aarch64__)
    int none = -1;
    iovec number = {&none, sizeof(none)};
    ptrace(PTRACE_SETREGSET, process_, NT_ARM_SYSTEM_CALL, &number);
    registers_.regs[0] = answer;
#endif
    iovec all = {&registers_, sizeof(registers_)};
    ptrace(PTRACE_SETREGSET, process_, NT_PRSTATUS, &all);
  }

  static constexpr bool kKnown =
#if defined(__x86_64__) || defined(__aarch64__)
      true;
#else
      false;
#endif

 private:
  pid_t process_;
  user_regs_struct registers_{};
};

// Stops this process before each of its calls that count, and tells its tracer. False: not possible
// here.
inline bool StopBefore(bool (*counts)(std::uint64_t)) {
  constexpr std::uint64_t kMostCalls = 1024;
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (std::uint64_t number = 0; number < kMostCalls; ++number) {
    if (!counts(number)) continue;
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Runs `body` in a process of its own, and `at` before each of its calls that count.
inline Stepped RunTraced(const std::function<void()>& body, bool (*counts)(std::uint64_t),
                         const std::function<void(pid_t)>& at) {
  constexpr int kUntraced = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kUntraced);
    raise(SIGSTOP);
    if (!StopBefore(counts)) _exit(kUntraced);
    body();
    _exit(0);
  }
  Stepped stepped;
  waitpid(child, &stepped.status, 0);
  if (!WIFSTOPPED(stepped.status)) return stepped;
  stepped.is_traced = true;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP);
  while (WIFSTOPPED(stepped.status)) {
    constexpr int kAtCall = SIGTRAP | (PTRACE_EVENT_SECCOMP << 8);
    if (stepped.status >> 8 == kAtCall) at(child);
    if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0 && errno != ESRCH) break;
    waitpid(child, &stepped.status, 0);
  }
  if (WIFEXITED(stepped.status) && WEXITSTATUS(stepped.status) == kUntraced) {
    stepped.is_traced = false;
  }
  return stepped;
}

// Runs `body` in a process of its own, which stops before its `step`th call that changes files (the
// first is 1) and has made those before it. There `at` is called; it may kill the process.
inline Stepped RunToStep(const std::function<void()>& body, int step,
                         const std::function<void(pid_t)>& at) {
  int seen = 0;
  Stepped stepped = RunTraced(body, ChangesFiles, [&](pid_t child) {
    if (++seen == step) at(child);
  });
  stepped.was_reached = seen >= step;
  return stepped;
}

// Runs `body` in a process of its own, in which system calls fail.
inline Stepped RunFailing(const std::function<void()>& body, const Failure& failure) {
  int seen = 0;
  Stepped stepped = RunTraced(body, failure.counts, [&](pid_t child) {
    const bool fails = ++seen == failure.first || (failure.is_lasting && seen > failure.first);
    if (fails) CallRegisters(child).Refuse(failure.number);
  });
  stepped.was_reached = seen >= failure.first;
  return stepped;
}

// How far the calls are apart that a test tries: `usual`, with NATIVE_RUNNER_EVERY_CALL 1. With a
// sanitizer, which shows other faults and takes several times as long, ten times as far; with
// NATIVE_RUNNER_FEWER_CALLS four times.
inline int StepsApart(int usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kFactor = 10;
#else
  const int kFactor = std::getenv("NATIVE_RUNNER_FEWER_CALLS") == nullptr ? 1 : 4;
#endif
  return std::getenv("NATIVE_RUNNER_EVERY_CALL") == nullptr ? usual * kFactor : 1;
}

inline void Kill(pid_t process) {
  kill(process, SIGKILL);
}

}  // namespace native_runner
