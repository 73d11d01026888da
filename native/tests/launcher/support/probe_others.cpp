#include "tests/launcher/support/probe_others.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int kLowest = 19;  // whatever we run with, this may be set

// sched_attr of sched_setattr(2), which older C libraries lack.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_BATCH;
  std::uint64_t flags = 0;
  std::int32_t nice = kLowest;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr int kIoProcess = 1;  // IOPRIO_WHO_*
constexpr int kIoGroup = 2;
constexpr int kIoIdle = 3 << 13;

long Set(const char* what, pid_t whose, bool group) {
  const auto is = [what](const char* other) { return std::strcmp(what, other) == 0; };
  const sched_param none{};
  const rlimit limit{0, 0};
  SchedulingAttributes attributes;
  if (is("limit")) return syscall(SYS_prlimit64, whose, RLIMIT_CORE, &limit, nullptr);
  if (is("policy")) return syscall(SYS_sched_setscheduler, whose, SCHED_BATCH, &none);
  if (is("parameter")) return syscall(SYS_sched_setparam, whose, &none);
  if (is("attributes")) return syscall(SYS_sched_setattr, whose, &attributes, 0);
  if (is("nice"))
    return setpriority(group ? PRIO_PGRP : PRIO_PROCESS, static_cast<id_t>(whose), kLowest);
  if (is("io")) return syscall(SYS_ioprio_set, group ? kIoGroup : kIoProcess, whose, kIoIdle);
  errno = EINVAL;
  return -1;
}

}  // namespace

int ListPairs() {
  for (const int domain : {AF_UNIX, AF_INET, AF_NETLINK}) {
    for (int type = 0; type < 16; ++type) {
      for (const int flags : {0, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
        int ends[2];
        if (socketpair(domain, type | flags, 0, ends) != 0) continue;
        std::printf("%d:%d ", domain, type);
        close(ends[0]);
        close(ends[1]);
      }
    }
  }
  return 0;
}

int SendElsewhere(int type, const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  int ends[2];
  if (socketpair(AF_UNIX, type, 0, ends) != 0) return 1;
  for (const bool is_alone : {false, true}) {
    if (is_alone) close(ends[1]);
    static_cast<void>(sendto(ends[0], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT, to, sizeof address));
    sockaddr_un unspecified{};
    static_cast<void>(
        connect(ends[0], reinterpret_cast<const sockaddr*>(&unspecified), sizeof unspecified));
    static_cast<void>(connect(ends[0], to, sizeof address));
    static_cast<void>(send(ends[0], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  return 0;
}

int SetOf(const char* what, const char* whose) {
  const bool is_other = std::strcmp(whose, "other") == 0;
  const bool is_group = std::strcmp(whose, "group") == 0;
  const long result = Set(what, is_other ? getppid() : 0, is_group);
  std::printf("%d\n", result < 0 ? errno : 0);
  return 0;
}
