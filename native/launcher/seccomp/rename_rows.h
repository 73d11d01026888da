#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "launcher/kernel/calls.h"
#include "launcher/seccomp/rename_listener.h"

namespace native_runner {

#if defined(__x86_64__)
inline constexpr unsigned kOwnArchitecture = AUDIT_ARCH_X86_64;
inline constexpr unsigned kFirstRename = SYS_rename;
#else
inline constexpr unsigned kOwnArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr unsigned kFirstRename = SYS_renameat;  // there is no other
#endif

// By these a call that renames, or confines by Landlock, waits for a listener's answer; what
// follows them decides of all others. Jumps are relative.
inline constexpr sock_filter kRenameRows[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnArchitecture, 0, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFirstRename, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kConfineCall, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

template <std::size_t kSize>
constexpr auto WithRenames(const sock_filter (&program)[kSize]) {
  constexpr std::size_t kHead = sizeof kRenameRows / sizeof *kRenameRows;
  std::array<sock_filter, kHead + kSize> rows{};
  std::copy(kRenameRows, kRenameRows + kHead, rows.begin());
  std::copy(program, program + kSize, rows.begin() + kHead);
  return rows;
}

}  // namespace native_runner
