#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace native_runner {

// A system call that is answered with `number`, as by an older kernel, another file system or a
// container; where `bits` are given, only if argument `argument` has one of them.
struct RefusedCall {
  unsigned call;
  int number;
  unsigned argument = 0;
  std::uint32_t bits = 0;
};

inline bool Install(const RefusedCall& rule) {
  const auto argument = static_cast<unsigned>(offsetof(seccomp_data, args)) + 8U * rule.argument;
  std::array<sock_filter, 6> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule.call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, rule.bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(rule.number)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  if (rule.bits == 0) filter[3] = BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0);
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Runs `body` in a thread under a filter, which is that thread's own. False: there can be none.
template <typename Body>
bool Under(const RefusedCall& rule, const Body& body) {
  bool installed = false;
  std::thread([&] {
    installed = Install(rule);
    if (installed) body();
  }).join();
  return installed;
}

}  // namespace native_runner
