// What tests use on the host's side: a place where no descendant of a host gets lost, a descriptor
// that a host did not close on exec, and a process that can't be told to go.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

enum { kRoundMs = 20 };

static void Pause(void) {
  const struct timespec round = {0, kRoundMs * 1000000L};
  nanosleep(&round, NULL);
}

// Prints what a file of /proc says, on one line: a process that is left may be left only this once.
static void PrintFile(const char* process, const char* name) {
  char path[300];
  char text[1024];
  snprintf(path, sizeof path, "/proc/%s/%s", process, name);
  FILE* file = fopen(path, "r");
  if (file == NULL) return;
  const size_t got = fread(text, 1, sizeof text, file);
  fclose(file);
  printf(", %s:", name);
  for (size_t i = 0; i < got; ++i)
    putchar(text[i] < ' ' ? ' ' : text[i]);
}

// Prints "left: STAT" of every child that is alive, and what it is and waits for, and kills it; the
// host's orphans are ours.
static void EndChildren(void) {
  DIR* processes = opendir("/proc");
  if (processes == NULL) Die("/proc");
  for (const struct dirent* entry; (entry = readdir(processes)) != NULL;) {
    char path[300];
    char text[512] = {0};
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE* file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
    if (file == NULL) continue;
    const size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char* rest = got > 0 ? strrchr(text, ')') : NULL;
    char state = 0;
    int parent = 0;
    if (rest == NULL || sscanf(rest, ") %c %d", &state, &parent) != 2) continue;
    if (parent == getpid() && state != 'Z') {
      text[strcspn(text, "\n")] = 0;
      printf("left: %s", text);
      PrintFile(entry->d_name, "cmdline");
      PrintFile(entry->d_name, "wchan");
      PrintFile(entry->d_name, "syscall");
      PrintFile(entry->d_name, "stack");
      putchar('\n');
      kill(atoi(text), SIGKILL);
    }
  }
  closedir(processes);
}

// BOUND_MS COMMAND...: runs it as the reaper of all it leaves behind. Exits as it did once nothing
// is left; when something is after BOUND_MS, prints and kills it and exits with 97.
int Reap(int argc, char** argv) {
  if (argc < 2) return 98;
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) Die("PR_SET_CHILD_SUBREAPER");
  const pid_t host = fork();
  if (host == 0) {
    execvp(argv[1], argv + 1);
    Die(argv[1]);
  }
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(-1, &status, 0)) != host) {
    if (ended < 0) Die("waitpid");
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (int left = atoi(argv[0]); left > 0; left -= kRoundMs) {
    pid_t reaped;
    while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return code;
    Pause();
  }
  EndChildren();
  return 97;
}

// NUMBER PATH COMMAND...: runs it with PATH open at NUMBER, not closed on exec.
int WithDescriptor(int argc, char** argv) {
  if (argc < 3) return 98;
  const int opened = open(argv[1], O_RDONLY);
  if (opened < 0) Die(argv[1]);
  if (dup2(opened, atoi(argv[0])) < 0) Die("dup2");
  execvp(argv[2], argv + 2);
  Die(argv[2]);
  return 99;
}

// PATH [stop]: ignores every signal that can be, says so by making PATH, and waits for ever.
int Linger(int argc, char** argv) {
  if (argc < 1) return 98;
  for (int number = 1; number <= 31; ++number)
    signal(number, SIG_IGN);
  if (CreateFile(1, argv) != 0) return 99;
  if (argc > 1) raise(SIGSTOP);
  for (;;)
    pause();
}
