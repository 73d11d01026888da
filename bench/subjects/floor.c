// The floor of the benchmark: what starting a command and waiting for it costs from C.
//
//   floor AT_ONCE RUNS COMMAND [ARG...]
//
// Spawns COMMAND RUNS times with posix_spawn(3), AT_ONCE of them in flight, all three standard
// streams on /dev/null, and reaps them with waitpid(2). One run goes before, unmeasured. Prints
// { "wallMs", "cpuMs" (this process only), "runMs": [...] }; exit code 1 if any run failed.

#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

struct Slot {
  pid_t pid;  // 0 = free
  double started_ms;
};

static void Fail(const char* what, int code) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(code));
  exit(1);
}

static double NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double CpuMs(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static void Start(struct Slot* slot, char** command, const posix_spawn_file_actions_t* actions) {
  slot->started_ms = NowMs();
  const int code = posix_spawn(&slot->pid, command[0], actions, NULL, command, environ);
  if (code != 0) Fail(command[0], code);
}

// Waits for any child; returns its slot, which is free again.
static struct Slot* Reap(struct Slot* slots, int count) {
  int status = 0;
  const pid_t pid = waitpid(-1, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "floor: a run failed, wait status 0x%x\n", (unsigned)status);
    exit(1);
  }
  for (int i = 0; i < count; i++) {
    if (slots[i].pid == pid) {
      slots[i].pid = 0;
      return &slots[i];
    }
  }
  fprintf(stderr, "floor: reaped an unknown child\n");
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: floor AT_ONCE RUNS COMMAND [ARG...]\n");
    return 2;
  }
  const int at_once = atoi(argv[1]);
  const int runs = atoi(argv[2]);
  char** command = argv + 3;
  if (at_once < 1 || runs < 1) return 2;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd <= 2; fd++) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  }
  struct Slot* slots = calloc((size_t)at_once, sizeof *slots);
  double* run_ms = calloc((size_t)runs, sizeof *run_ms);
  if (slots == NULL || run_ms == NULL) return 1;

  Start(&slots[0], command, &actions);
  Reap(slots, at_once);

  const double cpu_ms = CpuMs();
  const double wall_ms = NowMs();
  int started = 0;
  int ended = 0;
  for (; started < at_once && started < runs; started++)
    Start(&slots[started], command, &actions);
  while (ended < runs) {
    struct Slot* slot = Reap(slots, at_once);
    run_ms[ended++] = NowMs() - slot->started_ms;
    if (started < runs) {
      Start(slot, command, &actions);
      started++;
    }
  }

  printf("{\"wallMs\":%.3f,\"cpuMs\":%.3f,\"runMs\":[", NowMs() - wall_ms, CpuMs() - cpu_ms);
  for (int i = 0; i < runs; i++)
    printf("%s%.4f", i == 0 ? "" : ",", run_ms[i]);
  printf("]}\n");
  return 0;
}
