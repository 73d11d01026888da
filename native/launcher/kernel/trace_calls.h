#pragma once

#include <linux/ptrace.h>
#include <sys/types.h>

#include "launcher/kernel/calls.h"

// Of calls.h, those of ptrace(2).

namespace native_runner::kernel {

// What PTRACE_GET_SYSCALL_INFO tells (Linux 5.3), which older headers lack.
struct CallInfo {
  static constexpr std::uint8_t kExit = 2;
  static constexpr std::uint8_t kSeccomp = 3;

  std::uint8_t op = 0;
  std::uint8_t padding[3] = {};
  std::uint32_t architecture = 0;
  std::uint64_t instruction = 0;
  std::uint64_t stack = 0;
  struct Exit {
    std::int64_t result;
    std::uint8_t is_error;
  };
  struct Seccomp {
    std::uint64_t number;
    std::uint64_t arguments[6];
    std::uint32_t data;  // RET_DATA of the filter
  };
  union {
    Exit exit;
    Seccomp seccomp{};
  };
};

inline long Trace(unsigned long request, pid_t process, unsigned long address = 0,
                  unsigned long data = 0) {
  return Call(SYS_ptrace, request, process, address, data);
}
// False: it is not stopped at a call any more, or the kernel can't tell.
inline bool GetCallInfo(pid_t process, CallInfo* info) {
  constexpr unsigned long kGetCallInfo = 0x420e;
  return Call(SYS_ptrace, kGetCallInfo, process, sizeof *info, info) > 0;
}

}  // namespace native_runner::kernel
