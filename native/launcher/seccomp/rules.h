#pragma once

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/tty.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

// The constants in these rules must have the same values on the processor that makes the filter and
// on its target. So this is compiled into both, the generator and the launcher.

static_assert(EPERM == 1 && EACCES == 13 && ENOSYS == 38 && EAFNOSUPPORT == 97);
static_assert(CLONE_NEWNS == 0x20000 && CLONE_NEWCGROUP == 0x2000000 && CLONE_NEWUTS == 0x4000000);
static_assert(CLONE_NEWIPC == 0x8000000 && CLONE_NEWUSER == 0x10000000);
static_assert(CLONE_NEWPID == 0x20000000 && CLONE_NEWNET == 0x40000000);
static_assert(TIOCSTI == 0x5412 && TIOCLINUX == 0x541c && F_SETLEASE == 1024);
static_assert(S_IFMT == 0170000 && S_IFCHR == 0020000 && S_IFBLK == 0060000);
static_assert(AF_UNIX == 1 && AF_INET == 2 && AF_INET6 == 10 && AF_NETLINK == 16);
static_assert(SOCK_STREAM == 1 && SOCK_DGRAM == 2 && SOCK_RAW == 3 && SOCK_RDM == 4);
static_assert(SOCK_SEQPACKET == 5 && PRIO_PROCESS == 0);

// The table that generate.cpp turns into the filter of every sandboxed command. It lists calls that
// a build or a script never needs and an exploit does; all others are allowed. Calls are refused,
// not punished: programs that try them and fall back keep working. Most need capabilities that the
// command does not have; the filter also keeps the command from kernel bugs in them.
//
// A filter is made for one architecture. A process that calls the kernel by another one's rules
// (i386's int 0x80, x32) gets ENOSYS for everything: 32-bit programs do not run in the sandbox.
//
// A session's launcher runs under it too, so it must allow the calls that a serving launcher makes.

namespace native_runner {

struct SeccompRule {
  const char* call = nullptr;
  int error = EPERM;
  int number = -1;    // for calls that this libseccomp has no name for; equal on all architectures
  int argument = -1;  // index of the argument that must match; -1: refuse always
  scmp_compare compare = SCMP_CMP_EQ;
  std::uint64_t value = 0;
  std::uint64_t mask = 0;  // SCMP_CMP_MASKED_EQ: argument & mask == value
  bool is_quiet = false;   // ordinary programs try it and fall back: not reported
};

constexpr SeccompRule Quiet(SeccompRule rule) {
  rule.is_quiet = true;
  return rule;
}

// Refuses if argument `index`, of which the kernel reads only the bits of `mask`, has this value
// there.
constexpr SeccompRule Masked(const char* call, int index, std::uint64_t mask, std::uint64_t value) {
  return {call, EPERM, -1, index, SCMP_CMP_MASKED_EQ, value, mask};
}

// Refuses if argument `index` has this flag set.
constexpr SeccompRule Flag(const char* call, int index, std::uint64_t flag) {
  return Masked(call, index, flag, flag);
}

constexpr SeccompRule NoFamily(const char* call, scmp_compare compare, std::uint64_t family) {
  return {call, EAFNOSUPPORT, -1, 0, compare, family, 0};
}

constexpr std::uint64_t kLow32 = 0xffffffff;
// F_SETDELEG, a lease of a directory: in Linux since 6.19, and missing from most headers.
constexpr std::uint64_t kSetDelegation = 1040;

constexpr SeccompRule kSeccompRules[] = {
    // All processes of a user share keyrings: no namespace keeps the caller's keys apart.
    {"keyctl"},
    {"add_key"},
    {"request_key"},

    // Large parts of the kernel that exploits like to use, and no build needs.
    {"bpf"},
    {"perf_event_open"},
    {"userfaultfd"},
    {"fanotify_init"},
    {"lookup_dcookie"},
    // Also, its work on a process's behalf bypasses this filter.
    Quiet({"io_uring_setup"}),
    Quiet({"io_uring_enter"}),
    Quiet({"io_uring_register"}),
    // Linux AIO: one command can take all of fs.aio-max-nr, which the machine's programs share.
    Quiet({"io_setup"}),

    // Changing mounts would open the sandbox.
    {"mount"},
    {"umount2"},
    {"pivot_root"},
    {"chroot"},
    {"fsopen"},
    {"fsconfig"},
    {"fsmount"},
    {"fspick"},
    {"move_mount"},
    {"open_tree"},
    {"mount_setattr", EPERM, 442},
    {"open_tree_attr", EPERM, 467},
    {"open_by_handle_at"},  // opens unmounted files ("shocker")

    // New namespaces would bring new capabilities inside them, and with these all of the above.
    // clone3 has its flags in memory, out of the filter's sight; on ENOSYS, C libraries use clone.
    {"setns"},
    {"unshare"},
    Quiet({"clone3", ENOSYS}),
    Flag("clone", 0, CLONE_NEWNS),
    Flag("clone", 0, CLONE_NEWUSER),
    Flag("clone", 0, CLONE_NEWPID),
    Flag("clone", 0, CLONE_NEWNET),
    Flag("clone", 0, CLONE_NEWIPC),
    Flag("clone", 0, CLONE_NEWUTS),
    Flag("clone", 0, CLONE_NEWCGROUP),

    // Both insert input into the terminal that the host was started from. The kernel takes the low
    // half of the request (CVE-2019-10063).
    Masked("ioctl", 1, kLow32, TIOCSTI),
    Masked("ioctl", 1, kLow32, TIOCLINUX),

    // A lease makes every process that opens the file wait for as long as the kernel gives its
    // holder (45 s, fs.lease-break-time). It needs no right to write, only to own the file: root's
    // commands could block the host's programs, and clones one another by a file of their
    // template's.
    Masked("fcntl", 1, kLow32, F_SETLEASE),
    Masked("fcntl", 1, kLow32, kSetDelegation),

    // Device nodes give access to the hardware and the host's disks. Files, FIFOs and sockets may
    // be made.
    Masked("mknod", 1, S_IFMT, S_IFCHR),
    Masked("mknod", 1, S_IFMT, S_IFBLK),
    Masked("mknodat", 2, S_IFMT, S_IFCHR),
    Masked("mknodat", 2, S_IFMT, S_IFBLK),

    // Allows only the socket families UNIX (1), INET (2), INET6 (10) and NETLINK (16): AF_VSOCK
    // reaches the hypervisor whatever the network namespace, and the others are rarely reviewed
    // code.
    NoFamily("socket", SCMP_CMP_LT, AF_UNIX),
    NoFamily("socket", SCMP_CMP_EQ, 3),
    NoFamily("socket", SCMP_CMP_EQ, 4),
    NoFamily("socket", SCMP_CMP_EQ, 5),
    NoFamily("socket", SCMP_CMP_EQ, 6),
    NoFamily("socket", SCMP_CMP_EQ, 7),
    NoFamily("socket", SCMP_CMP_EQ, 8),
    NoFamily("socket", SCMP_CMP_EQ, 9),
    NoFamily("socket", SCMP_CMP_EQ, 11),
    NoFamily("socket", SCMP_CMP_EQ, 12),
    NoFamily("socket", SCMP_CMP_EQ, 13),
    NoFamily("socket", SCMP_CMP_EQ, 14),
    NoFamily("socket", SCMP_CMP_EQ, 15),
    NoFamily("socket", SCMP_CMP_GT, AF_NETLINK),
    NoFamily("socketpair", SCMP_CMP_NE, AF_UNIX),

    // Administration of the whole machine.
    {"kexec_load"},
    {"kexec_file_load"},
    {"init_module"},
    {"finit_module"},
    {"delete_module"},
    {"reboot"},
    {"swapon"},
    {"swapoff"},
    {"acct"},
    {"quotactl"},
    {"quotactl_fd", EPERM, 443},
    {"sethostname"},
    {"setdomainname"},
    {"settimeofday"},
    {"clock_settime"},
    {"syslog"},
    {"vhangup"},

    // Relics: hardware ports, segment tables, calls unused for decades.
    {"iopl"},
    {"ioperm"},
    {"modify_ldt"},
    {"uselib"},
    {"ustat"},
    {"sysfs"},
    {"_sysctl"},
    {"nfsservctl"},
};

constexpr SeccompRule NoPair(std::uint64_t type) {
  constexpr std::uint64_t kTypes = 0xf;  // SOCK_CLOEXEC and SOCK_NONBLOCK may be set beside it
  return {"socketpair", EACCES, -1, 1, SCMP_CMP_MASKED_EQ, type, kTypes};
}

// Added where the network is denied without a network namespace: no socket with a name can be made
// (Landlock handles TCP only, and no UNIX socket's path). Of socketpair(2)'s types only SOCK_STREAM
// (1) and SOCK_SEQPACKET (5) stay, whose ends can only reach each other: a datagram end, which
// SOCK_RAW is too, can send to any socket that has a path.
constexpr SeccompRule kNoSocketRules[] = {{"socket", EACCES}};
constexpr SeccompRule kNoPairRules[] = {
    NoPair(0),  NoPair(SOCK_DGRAM), NoPair(SOCK_RAW), NoPair(SOCK_RDM), NoPair(6),
    NoPair(7),  NoPair(8),          NoPair(9),        NoPair(10),       NoPair(11),
    NoPair(12), NoPair(13),         NoPair(14),       NoPair(15),
};

constexpr SeccompRule NoSocket(scmp_compare compare, std::uint64_t family) {
  return {"socket", EACCES, -1, 0, compare, family, 0};
}

// In place of kNoSocketRules where a listener refuses the internet's families, to tell of it
// (kInternetRows in seccomp.cpp). The C library tries the others without need.
constexpr SeccompRule kNoOtherSocketRules[] = {
    NoSocket(SCMP_CMP_LT, AF_INET), NoSocket(SCMP_CMP_EQ, 3), NoSocket(SCMP_CMP_EQ, 4),
    NoSocket(SCMP_CMP_EQ, 5),       NoSocket(SCMP_CMP_EQ, 6), NoSocket(SCMP_CMP_EQ, 7),
    NoSocket(SCMP_CMP_EQ, 8),       NoSocket(SCMP_CMP_EQ, 9), NoSocket(SCMP_CMP_GT, AF_INET6),
};

constexpr SeccompRule Unless(const char* call, int index, std::uint64_t value) {
  return {call, EPERM, -1, index, SCMP_CMP_NE, value, 0};
}

// Added, in one filter with the first, where commands must be kept from other processes of the same
// user, as the kernel only requires the same user: limits and priorities can be set for the calling
// process (number 0) only. sched_setaffinity(2) stays: threads set each other's by number, and a
// process that is moved still gets its share of a processor.
constexpr SeccompRule kOwnProcessRules[] = {
    Unless("prlimit64", 0, 0),
    Unless("sched_setscheduler", 0, 0),
    Unless("sched_setparam", 0, 0),
    Unless("sched_setattr", 0, 0),
    Unless("setpriority", 0, PRIO_PROCESS),
    Unless("setpriority", 1, 0),
    Unless("ioprio_set", 0, 1),  // IOPRIO_WHO_PROCESS
    Unless("ioprio_set", 1, 0),
};

}  // namespace native_runner
