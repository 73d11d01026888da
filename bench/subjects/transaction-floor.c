// What parts of a transaction cost from C.
//
//   transaction-floor walk RUNS DIRECTORY
//   transaction-floor exchange RUNS DIRECTORY FOLDERS FILES
//
// `walk` reads all names below the directory, and the attributes of each. `exchange` has FOLDERS
// times FILES files in two trees below the directory, those of one newly written; it lets each of
// them and its like change places by renameat2(2), with one syncfs(2) at the end. What it makes
// ahead is not measured. Both print { "wallMs", "cpuMs" (this process only), "runMs": [...] }.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void Fail(const char* what) {
  fprintf(stderr, "transaction-floor: %s: %s\n", what, strerror(errno));
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

static int OpenDirectory(int parent, const char* name) {
  const int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) Fail(name);
  return directory;
}

// How many names there are below; the descriptor is closed.
static long Walk(int directory) {
  DIR* stream = fdopendir(directory);
  if (stream == NULL) Fail("fdopendir");
  long seen = 0;
  for (struct dirent* entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    struct statx status;
    const unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    if (statx(directory, entry->d_name, AT_SYMLINK_NOFOLLOW, wanted, &status) != 0) {
      Fail(entry->d_name);
    }
    seen++;
    if (S_ISDIR(status.stx_mode)) seen += Walk(OpenDirectory(directory, entry->d_name));
  }
  closedir(stream);
  return seen;
}

static double TimedWalk(const char* path) {
  const double from = NowMs();
  const long seen = Walk(OpenDirectory(AT_FDCWD, path));
  const double took = NowMs() - from;
  if (seen == 0) {
    fprintf(stderr, "transaction-floor: %s is empty\n", path);
    exit(1);
  }
  return took;
}

static void NameOf(char* name, size_t size, const char* tree, int folder, int file) {
  if (file < 0) {
    snprintf(name, size, "%s/d%d", tree, folder);
  } else {
    snprintf(name, size, "%s/d%d/f%d", tree, folder, file);
  }
}

static void WriteFiles(int top, const char* tree, int folders, int files) {
  char text[4096];
  char name[256];
  memset(text, 'x', sizeof text);
  if (mkdirat(top, tree, 0755) != 0 && errno != EEXIST) Fail(tree);
  for (int folder = 0; folder < folders; folder++) {
    NameOf(name, sizeof name, tree, folder, -1);
    if (mkdirat(top, name, 0755) != 0 && errno != EEXIST) Fail(name);
    for (int file = 0; file < files; file++) {
      NameOf(name, sizeof name, tree, folder, file);
      unlinkat(top, name, 0);
      const int made = openat(top, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      if (made < 0 || write(made, text, sizeof text) != (ssize_t)sizeof text) Fail(name);
      close(made);
    }
  }
}

static double TimedExchange(int top, int folders, int files) {
  char one[256];
  char other[256];
  WriteFiles(top, "mine", folders, files);
  const double from = NowMs();
  for (int folder = 0; folder < folders; folder++) {
    for (int file = 0; file < files; file++) {
      NameOf(one, sizeof one, "mine", folder, file);
      NameOf(other, sizeof other, "host", folder, file);
      if (syscall(SYS_renameat2, top, one, top, other, RENAME_EXCHANGE) != 0) Fail("renameat2");
    }
  }
  if (syncfs(top) != 0) Fail("syncfs");
  return NowMs() - from;
}

int main(int argc, char** argv) {
  const int is_walk = argc == 4 && strcmp(argv[1], "walk") == 0;
  const int is_exchange = argc == 6 && strcmp(argv[1], "exchange") == 0;
  const int runs = argc > 2 ? atoi(argv[2]) : 0;
  if ((!is_walk && !is_exchange) || runs < 1) {
    fprintf(stderr, "usage: transaction-floor walk|exchange RUNS DIRECTORY [FOLDERS FILES]\n");
    return 2;
  }
  double* run_ms = calloc((size_t)runs, sizeof *run_ms);
  if (run_ms == NULL) return 1;
  const int folders = is_exchange ? atoi(argv[4]) : 0;
  const int files = is_exchange ? atoi(argv[5]) : 0;
  const int top = OpenDirectory(AT_FDCWD, argv[3]);
  if (is_exchange) {
    WriteFiles(top, "host", folders, files);
    if (syncfs(top) != 0) Fail("syncfs");
  }
  const double cpu_ms = CpuMs();
  const double wall_ms = NowMs();
  for (int run = 0; run < runs; run++)
    run_ms[run] = is_walk ? TimedWalk(argv[3]) : TimedExchange(top, folders, files);
  printf("{\"wallMs\":%.3f,\"cpuMs\":%.3f,\"runMs\":[", NowMs() - wall_ms, CpuMs() - cpu_ms);
  for (int run = 0; run < runs; run++)
    printf("%s%.4f", run == 0 ? "" : ",", run_ms[run]);
  printf("]}\n");
  return 0;
}
