// The built program itself, run by a small interpreter over every system call: what the table does
// not name must be allowed, and what it names must not.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/tty.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "launcher/seccomp/seccomp.h"

namespace native_runner {
namespace {

#ifdef __x86_64__
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#endif

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t Refuse(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

bool Compare(const sock_filter& row, std::uint32_t a) {
  switch (BPF_OP(row.code)) {
    case BPF_JEQ:
      return a == row.k;
    case BPF_JGT:
      return a > row.k;
    case BPF_JGE:
      return a >= row.k;
    case BPF_JSET:
      return (a & row.k) != 0;
    default:
      ADD_FAILURE() << "unexpected jump";
      return false;
  }
}

std::uint32_t Evaluate(const seccomp_data& data) {
  const auto program = SeccompProgram();
  std::uint32_t a = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& row = program[at];
    switch (BPF_CLASS(row.code)) {
      case BPF_LD:
        std::memcpy(&a, reinterpret_cast<const char*>(&data) + row.k, sizeof a);
        break;
      case BPF_ALU:
        if (BPF_OP(row.code) != BPF_AND) ADD_FAILURE() << "unexpected operation";
        a &= row.k;
        break;
      case BPF_JMP:
        if (BPF_OP(row.code) == BPF_JA) {
          at += row.k;
        } else {
          at += Compare(row, a) ? row.jt : row.jf;
        }
        break;
      case BPF_RET:
        return row.k;
      default:
        ADD_FAILURE() << "unexpected class";
        return 0;
    }
  }
  ADD_FAILURE() << "the program does not end";
  return 0;
}

std::uint32_t Call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                   std::uint32_t arch = kArch) {
  return Evaluate({static_cast<int>(number), arch, 0, {a, b, c, 0, 0, 0}});
}

// Written out again here, by number, so that a slip in the table shows.
const std::set<long>& Blocked() {
  static const std::set<long> blocked = {
      SYS_keyctl,
      SYS_add_key,
      SYS_request_key,
      SYS_bpf,
      SYS_perf_event_open,
      SYS_userfaultfd,
      SYS_fanotify_init,
      SYS_lookup_dcookie,
      425,
      426,
      427,
      SYS_io_setup,
      SYS_mount,
      SYS_umount2,
      SYS_pivot_root,
      SYS_chroot,
      428,
      429,
      430,
      431,
      432,
      433,
      442,
      467,
      SYS_open_by_handle_at,
      SYS_setns,
      SYS_unshare,
      SYS_kexec_load,
      SYS_kexec_file_load,
      SYS_init_module,
      SYS_finit_module,
      SYS_delete_module,
      SYS_reboot,
      SYS_swapon,
      SYS_swapoff,
      SYS_acct,
      SYS_quotactl,
      443,
      SYS_sethostname,
      SYS_setdomainname,
      SYS_settimeofday,
      SYS_clock_settime,
      SYS_syslog,
      SYS_vhangup,
      SYS_nfsservctl,
#ifdef __x86_64__
      SYS_iopl,
      SYS_ioperm,
      SYS_modify_ldt,
      SYS_uselib,
      SYS_ustat,
      SYS_sysfs,
      SYS__sysctl,
#endif
  };
  return blocked;
}

TEST(SeccompProgramTest, NamesWhatItBlocksAndAllowsTheRest) {
  constexpr long kClone3 = 435;
  for (long number = 0; number < 600; ++number) {
    if (number == SYS_socket) continue;  // family 0 is refused
    if (number == SYS_socketpair) continue;
    const std::uint32_t expected = number == kClone3            ? Refuse(ENOSYS)
                                   : Blocked().contains(number) ? Refuse(EPERM)
                                                                : kAllow;
    EXPECT_EQ(Call(number), expected) << number;
  }
}

TEST(SeccompProgramTest, CloneMayNotMakeNamespaces) {
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(Call(SYS_clone, kThread), kAllow);
  EXPECT_EQ(Call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD), kAllow);
  for (const std::uint64_t flag : {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
                                   CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    EXPECT_EQ(Call(SYS_clone, flag), Refuse(EPERM)) << flag;
    EXPECT_EQ(Call(SYS_clone, flag | kThread), Refuse(EPERM)) << flag;
    EXPECT_EQ(Call(SYS_clone, flag | (7ull << 32)), Refuse(EPERM)) << flag;
  }
}

TEST(SeccompProgramTest, IoctlSeesTheLowHalfOfTheRequest) {
  constexpr std::uint64_t kHigh = 0xdeadbeef00000000;
  for (const std::uint64_t request : {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}}) {
    EXPECT_EQ(Call(SYS_ioctl, 0, request), Refuse(EPERM));
    EXPECT_EQ(Call(SYS_ioctl, 0, request | kHigh), Refuse(EPERM));
    EXPECT_EQ(Call(SYS_ioctl, request, request + 1), kAllow);
  }
  EXPECT_EQ(Call(SYS_ioctl, 0, TCGETS), kAllow);
}

TEST(SeccompProgramTest, FilesMayNotBeLeased) {
  constexpr std::uint64_t kHigh = 0xdeadbeef00000000;
  constexpr std::uint64_t kSetDelegation = 1040;
  for (const std::uint64_t what : {std::uint64_t{F_SETLEASE}, kSetDelegation}) {
    for (const std::uint64_t kind : {F_RDLCK, F_WRLCK}) {
      EXPECT_EQ(Call(SYS_fcntl, 0, what, kind), Refuse(EPERM));
      EXPECT_EQ(Call(SYS_fcntl, 0, what | kHigh, kind), Refuse(EPERM));
    }
  }
  for (const std::uint64_t what :
       {F_SETFL, F_SETFD, F_SETLK, F_OFD_SETLK, F_GETLEASE, F_DUPFD_CLOEXEC})
    EXPECT_EQ(Call(SYS_fcntl, 0, what, F_WRLCK), kAllow) << what;
}

TEST(SeccompProgramTest, OnlyFourSocketFamilies) {
  const std::set<std::uint64_t> allowed = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  for (std::uint64_t family = 0; family < 64; ++family) {
    EXPECT_EQ(Call(SYS_socket, family), allowed.contains(family) ? kAllow : Refuse(EAFNOSUPPORT))
        << family;
    EXPECT_EQ(Call(SYS_socket, family | (1ull << 32)), Refuse(EAFNOSUPPORT)) << family;
    EXPECT_EQ(Call(SYS_socketpair, family), family == AF_UNIX ? kAllow : Refuse(EAFNOSUPPORT));
  }
}

TEST(SeccompProgramTest, DeviceNodesMayNotBeMade) {
  for (const std::uint64_t type : {S_IFCHR, S_IFBLK}) {
    EXPECT_EQ(Call(SYS_mknodat, 0, 0, type | 0644), Refuse(EPERM));
#ifdef SYS_mknod
    EXPECT_EQ(Call(SYS_mknod, 0, type | 0644), Refuse(EPERM));
#endif
  }
  for (const std::uint64_t type : {S_IFREG, S_IFIFO, S_IFSOCK}) {
    EXPECT_EQ(Call(SYS_mknodat, 0, 0, type | 0644), kAllow);
  }
}

TEST(SeccompProgramTest, OtherArchitecturesHaveNoCallsAtAll) {
  for (long number = 0; number < 500; number += 7) {
    EXPECT_EQ(Call(number, 0, 0, 0, AUDIT_ARCH_I386), Refuse(ENOSYS));
#ifdef __x86_64__
    EXPECT_EQ(Call(number | 0x40000000, 0, 0, 0), Refuse(ENOSYS));  // x32
#endif
  }
}

}  // namespace
}  // namespace native_runner
