// Takes all that the kernel gives of what a user's processes, or the machine's, share, and keeps it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

// Each takes one more; below 0 when there is no more.

static int OpenOne(void) {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int TakeInotify(void) {
  return inotify_init1(IN_CLOEXEC);
}

// As many as fit into one instance, each another directory of /proc.
static int TakeWatch(void) {
  static int instance = -1;
  static int number = 0;
  char path[64];
  if (instance < 0 && (instance = TakeInotify()) < 0) return -1;
  snprintf(path, sizeof path, "/tmp/%d", number++);
  const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  close(file);
  return inotify_add_watch(instance, path, IN_OPEN);
}

// Of a hundred descriptors in each of many epolls: the product counts.
static int TakeEpoll(void) {
  enum { kWatched = 5000 };
  static int watched[kWatched];
  static int next = kWatched;
  static int instance = -1;
  if (watched[0] == 0) {
    for (int i = 0; i < kWatched; ++i) {
      if ((watched[i] = eventfd(0, EFD_CLOEXEC)) < 0) return -1;
    }
  }
  if (next == kWatched) {
    if ((instance = epoll_create1(EPOLL_CLOEXEC)) < 0) return -1;
    next = 0;
  }
  struct epoll_event event = {.events = EPOLLIN};
  return epoll_ctl(instance, EPOLL_CTL_ADD, watched[next++], &event);
}

static int TakePipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  return 0;
}

static int TakeQueue(void) {
  static int number = 0;
  char name[32];
  snprintf(name, sizeof name, "taken-%d", number++);
  return (int)syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, NULL);
}

static int TakeKey(void) {
  static int number = 0;
  char name[32];
  snprintf(name, sizeof name, "taken-%d", number++);
  return (int)syscall(SYS_add_key, "user", name, "x", 1, -2);
}

static int TakeSignal(void) {
  static int is_blocked = 0;
  if (!is_blocked) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    is_blocked = 1;
  }
  return sigqueue(getpid(), SIGRTMIN, (union sigval){0});
}

static int TakeTimer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

static int TakeAio(void) {
  unsigned long context = 0;
  return (int)syscall(SYS_io_setup, 128, &context);
}

static int TakeTerminal(void) {
  return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

// Descriptors in messages that nobody receives, 253 in each; a new pair when one is full.
static int TakeInFlight(void) {
  enum { kMost = 253 };
  static int ends[2] = {-1, -1};
  static int sent[kMost];
  if (ends[0] < 0) {
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) != 0) return -1;
    for (int i = 0; i < kMost; ++i) sent[i] = STDOUT_FILENO;
  }
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof sent)];
  } passed = {0};
  struct iovec byte = {"?", 1};
  const struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &passed,
                                 .msg_controllen = sizeof passed};
  passed.header.cmsg_len = CMSG_LEN(sizeof sent);
  passed.header.cmsg_level = SOL_SOCKET;
  passed.header.cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(&passed.header), sent, sizeof sent);
  if (sendmsg(ends[0], &message, 0) == 1) return 0;
  if (errno != EAGAIN) return -1;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) != 0) return -1;
  return sendmsg(ends[0], &message, 0) == 1 ? 0 : -1;
}

// POOL MOST: says how many it got and why no more, and keeps them until its input ends.
int Exhaust(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*take)(void);
  } kPools[] = {
      {"files", OpenOne},       {"inotify", TakeInotify}, {"watches", TakeWatch},
      {"epoll", TakeEpoll},     {"pipes", TakePipe},      {"queues", TakeQueue},
      {"keys", TakeKey},        {"signals", TakeSignal},  {"timers", TakeTimer},
      {"aio", TakeAio},         {"ptys", TakeTerminal},   {"in-flight", TakeInFlight},
  };
  if (argc != 2) return 98;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  for (unsigned i = 0; i < sizeof kPools / sizeof *kPools; ++i) {
    if (strcmp(argv[0], kPools[i].name) != 0) continue;
    long taken = 0;
    while (taken < atol(argv[1]) && kPools[i].take() >= 0) ++taken;
    const int error = errno;
    printf("%ld ", taken);
    errno = error;
    Say(taken < atol(argv[1]) ? -1 : 0);
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
  }
  return 98;
}
