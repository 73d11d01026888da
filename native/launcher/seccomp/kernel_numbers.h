#pragma once

#include <fcntl.h>
#include <linux/tty.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

// What rules.h says by name must be the same number for the processor that makes the filter and for
// the one that it is for. So this is compiled into both, the generator and the launcher.

static_assert(EPERM == 1 && EACCES == 13 && ENOSYS == 38 && EAFNOSUPPORT == 97);
static_assert(CLONE_NEWNS == 0x20000 && CLONE_NEWCGROUP == 0x2000000 && CLONE_NEWUTS == 0x4000000);
static_assert(CLONE_NEWIPC == 0x8000000 && CLONE_NEWUSER == 0x10000000);
static_assert(CLONE_NEWPID == 0x20000000 && CLONE_NEWNET == 0x40000000);
static_assert(TIOCSTI == 0x5412 && TIOCLINUX == 0x541c && F_SETLEASE == 1024);
static_assert(S_IFMT == 0170000 && S_IFCHR == 0020000 && S_IFBLK == 0060000);
static_assert(AF_UNIX == 1 && AF_INET == 2 && AF_INET6 == 10 && AF_NETLINK == 16);
static_assert(SOCK_STREAM == 1 && SOCK_DGRAM == 2 && SOCK_RAW == 3 && SOCK_RDM == 4);
static_assert(SOCK_SEQPACKET == 5 && PRIO_PROCESS == 0);
