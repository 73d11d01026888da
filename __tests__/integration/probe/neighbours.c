// What one process may do to another of the same user. PID may be "child": a child of ours.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static char there[] = "what another process has in its memory";  // at the same address: not PIE

static int SendNothing(pid_t pid) {
  return kill(pid, 0);
}

static int Trace(pid_t pid) {
  return (int)ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

static int ReadMemory(pid_t pid) {
  char here[sizeof there] = {0};
  const struct iovec to = {here, sizeof here};
  const struct iovec from = {there, sizeof there};
  return (int)process_vm_readv(pid, &to, 1, &from, 1, 0);
}

static int TakeDescriptor(pid_t pid) {
  const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  return pidfd < 0 ? pidfd : (int)syscall(SYS_pidfd_getfd, pidfd, 0, 0);
}

static int LimitDescriptors(pid_t pid) {
  const struct rlimit none = {0, 0};
  return (int)syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &none, NULL);
}

static int MakeIdle(pid_t pid) {
  const struct sched_param none = {0};
  return sched_setscheduler(pid, SCHED_IDLE, &none);
}

static int MakeNice(pid_t pid) {
  return setpriority(PRIO_PROCESS, (id_t)pid, 19);
}

static int MakeIoIdle(pid_t pid) {
  return (int)syscall(SYS_ioprio_set, 1, pid, 3 << 13);
}

// HOW PID
int Meddle(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(pid_t pid);
  } kWays[] = {
      {"signal", SendNothing},
      {"trace", Trace},
      {"memory", ReadMemory},
      {"descriptor", TakeDescriptor},
      {"limits", LimitDescriptors},
      {"policy", MakeIdle},
      {"priority", MakeNice},
      {"io-priority", MakeIoIdle},
  };
  if (argc < 2) return 98;
  const int is_child = strcmp(argv[1], "child") == 0;
  pid_t pid = is_child ? fork() : atoi(argv[1]);
  if (is_child && pid == 0) {
    for (;;)
      pause();
  }
  for (unsigned i = 0; i < sizeof kWays / sizeof *kWays; ++i) {
    if (strcmp(argv[0], kWays[i].name) != 0) continue;
    const int said = Say(kWays[i].run(pid));
    if (is_child) kill(pid, SIGKILL);
    return said;
  }
  return 98;
}
