// What each step of a clone costs: makes clones as a template's launcher does, with steps left out.
//
//   clone-steps ROUNDS RUNS AT_ONCE UID GID
//
// Process 1 of a sandbox that bwrap has made as for a template. In each round every variant makes RUNS
// clones, AT_ONCE of them in flight, each round beginning with another variant. Prints for each the
// microseconds that a clone took in each round, of time and of the processors (all its processes and
// ours, no kernel threads), as { "VARIANT": { "wall": [...], "cpu": [...] } }.
// Linux, no library but libc's; exit code 1 with a word on stderr if any step fails.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum Step {
  kPid = 1 << 0,
  kProc = 1 << 1,
  kMounts = 1 << 2,
  kTmpfs = 1 << 3,
  kTerminals = 1 << 4,
  kIpc = 1 << 5,
  kUts = 1 << 6,
  kCgroup = 1 << 7,
  kNetwork = 1 << 8,
  kLoopback = 1 << 9,
  kUser = 1 << 10,
  kLeave = 1 << 11,
  kForbid = 1 << 12,
  kCapabilities = 1 << 13,
  kSeccomp = 1 << 14,
  kSecond = 1 << 15,
  kExec = 1 << 16,
};

static const struct Variant {
  const char* name;
  unsigned leaves_out;
} kVariants[] = {
    {"all of it", 0},
    {"network namespace, its loopback", kNetwork | kLoopback},
    {"the loopback alone", kLoopback},
    {"mount namespace, its mounts", kMounts | kProc | kTmpfs | kTerminals},
    {"proc, tmpfs, devpts", kProc | kTmpfs | kTerminals},
    {"proc", kProc},
    {"tmpfs, twice", kTmpfs},
    {"devpts", kTerminals},
    {"IPC namespace", kIpc},
    {"UTS namespace", kUts},
    {"cgroup namespace", kCgroup},
    {"pid namespace, proc", kPid | kProc},
    {"second user namespace, its limit", kLeave | kForbid},
    {"the limit alone", kForbid},
    {"capabilities and bounding set", kCapabilities},
    {"seccomp filter", kSeccomp},
    {"a second process for the command", kSecond},
    {"execve(2) of /bin/true", kExec},
    {"all namespaces and mounts", kPid | kProc | kMounts | kTmpfs | kTerminals | kIpc | kUts |
                                      kCgroup | kNetwork | kLoopback | kUser | kLeave | kForbid},
};
enum { kCount = sizeof kVariants / sizeof *kVariants, kFilterLength = 120 };

static long g_uid;
static long g_gid;
static int g_proc;
static long g_outer_uid;
static long g_outer_gid;

static void Fail(const char* what) {
  fprintf(stderr, "clone-steps: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static void Must(long result, const char* what) {
  if (result < 0) Fail(what);
}

static double NowUs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double CpuUsOf(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double CpuUs(void) {
  return CpuUsOf(RUSAGE_SELF) + CpuUsOf(RUSAGE_CHILDREN);
}

struct Took {
  double wall_us;
  double cpu_us;
};

static void WriteTo(const char* path, const char* text) {
  const int fd = openat(g_proc, path, O_WRONLY | O_CLOEXEC);
  Must(fd, path);
  Must(write(fd, text, strlen(text)), path);
  close(fd);
}

static void MapUser(long uid, long gid, long outer_uid, long outer_gid) {
  char line[64];
  WriteTo("self/setgroups", "deny");
  snprintf(line, sizeof line, "%ld %ld 1\n", gid, outer_gid);
  WriteTo("self/gid_map", line);
  snprintf(line, sizeof line, "%ld %ld 1\n", uid, outer_uid);
  WriteTo("self/uid_map", line);
}

static void BringUpLoopback(void) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Must(fd, "socket");
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  Must(ioctl(fd, SIOCSIFFLAGS, &request), "lo");
  close(fd);
}

static void MakeMounts(unsigned steps) {
  const unsigned long plain = MS_NOSUID | MS_NODEV;
  if (steps & kProc) Must(mount("proc", "/proc", "proc", plain | MS_NOEXEC | MS_RDONLY, NULL), "proc");
  if (steps & kTmpfs) {
    Must(mount("tmpfs", "/tmp", "tmpfs", plain, "mode=0755"), "/tmp");
    Must(mount("tmpfs", "/dev/shm", "tmpfs", plain, "mode=0755"), "/dev/shm");
  }
  if (steps & kTerminals) {
    Must(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
               "newinstance,ptmxmode=0666,mode=620"),
         "devpts");
  }
}

static void DropCapabilities(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  struct {
    unsigned version;
    int pid;
  } header = {0x20080522, 0};
  unsigned sets[6] = {0};
  Must(syscall(SYS_capset, &header, sets), "capset");
}

// As long as ours, and as harmless as it has to be here: nothing is refused.
static void InstallFilter(void) {
  struct sock_filter filter[kFilterLength + 2];
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
  for (unsigned at = 1; at <= kFilterLength; at++)
    filter[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 100000 + at, 0, 0);
  filter[kFilterLength + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {kFilterLength + 2, filter};
  Must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

static void BeCommand(unsigned steps) {
  if (steps & kSeccomp) InstallFilter();
  if (!(steps & kExec)) _exit(0);
  char* argv[] = {"/bin/true", NULL};
  execve(argv[0], argv, argv + 1);
  Fail("execve");
}

static void BeClone(unsigned steps) {
  unsigned long made = 0;
  if (steps & kMounts) made |= CLONE_NEWNS;
  if (steps & kIpc) made |= CLONE_NEWIPC;
  if (steps & kUts) made |= CLONE_NEWUTS;
  if (steps & kCgroup) made |= CLONE_NEWCGROUP;
  if (steps & kNetwork) made |= CLONE_NEWNET;
  if (steps & kUser) MapUser(0, 0, g_outer_uid, g_outer_gid);
  if (made != 0) Must(unshare((int)made), "unshare");
  if (steps & kMounts) MakeMounts(steps);
  if (steps & kLoopback) BringUpLoopback();
  if (steps & kLeave) {
    Must(unshare(CLONE_NEWUSER), "unshare of the user namespace");
    if (steps & kUser) MapUser(g_uid, g_gid, 0, 0);
    else MapUser(g_uid, g_gid, g_outer_uid, g_outer_gid);
  }
  if (steps & kForbid) WriteTo("sys/user/max_user_namespaces", "0");
  Must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (steps & kCapabilities) DropCapabilities();
  setsid();
  syscall(SYS_close_range, 3, ~0U, 0);
  if (!(steps & kSecond)) BeCommand(steps);
  const pid_t pid = fork();
  Must(pid, "fork");
  if (pid == 0) BeCommand(steps);
  int status = 0;
  Must(waitpid(pid, &status, 0), "waitpid");
  _exit(status == 0 ? 0 : 1);
}

static void StartClone(unsigned steps) {
  // CLONE_NEWUSER and CLONE_NEWPID of the raw call; no stack: as fork(2) otherwise.
  unsigned long flags = SIGCHLD;
  if (steps & kUser) flags |= CLONE_NEWUSER;
  if (steps & kPid) flags |= CLONE_NEWPID;
#if defined(__s390__)
  const long pid = syscall(SYS_clone, 0, flags, 0, 0, 0);
#else
  const long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
#endif
  Must(pid, "clone");
  if (pid == 0) BeClone(steps);
}

static struct Took Burst(unsigned steps, int runs, int at_once) {
  const double cpu_us = CpuUs();
  const double from = NowUs();
  int started = 0;
  for (; started < at_once && started < runs; started++)
    StartClone(steps);
  for (int ended = 0; ended < runs; ended++) {
    int status = 0;
    Must(waitpid(-1, &status, 0), "waitpid");
    if (status != 0) _exit(1);
    if (started < runs) {
      StartClone(steps);
      started++;
    }
  }
  return (struct Took){(NowUs() - from) / runs, (CpuUs() - cpu_us) / runs};
}

static void PrintRounds(const char* name, const double* first, int rounds) {
  printf("\"%s\":[", name);
  for (int round = 0; round < rounds; round++)
    printf("%s%.1f", round == 0 ? "" : ",", first[2 * round]);
  printf("]");
}

// What is taken down after the fact must not burden the next.
static void Settle(void) {
  const struct timespec moment = {0, 50000000};
  nanosleep(&moment, NULL);
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int rounds = atoi(argv[1]);
  const int runs = atoi(argv[2]);
  const int at_once = atoi(argv[3]);
  g_uid = atol(argv[4]);
  g_gid = atol(argv[5]);
  if (rounds < 1 || runs < 1 || at_once < 1) return 2;
  g_outer_uid = geteuid();
  g_outer_gid = getegid();
  // One of which nothing is covered: else no clone may mount its own.
  Must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
  g_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  Must(g_proc, "/proc");

  struct Took* took = calloc((size_t)rounds * kCount, sizeof *took);
  if (took == NULL) return 1;
  for (int at = 0; at < kCount; at++)
    Burst(~kVariants[at].leaves_out, runs / 4 + 1, at_once);
  for (int round = 0; round < rounds; round++) {
    for (int turn = 0; turn < kCount; turn++) {
      const int at = (turn + round) % kCount;
      Settle();
      took[at * rounds + round] = Burst(~kVariants[at].leaves_out, runs, at_once);
    }
  }
  for (int at = 0; at < kCount; at++) {
    printf("%s\"%s\":{", at == 0 ? "{" : ",\n", kVariants[at].name);
    PrintRounds("wall", &took[at * rounds].wall_us, rounds);
    printf(",");
    PrintRounds("cpu", &took[at * rounds].cpu_us, rounds);
    printf("}");
  }
  printf("}\n");
  return 0;
}
