// Memory that a process has touched, in the smallest pages: the kernel gives it back page by page.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

// fill GIGABYTES: says OK when it has touched them, and stays.
int FillMemory(int argc, char** argv) {
  if (argc < 1) return 98;
  const size_t size = strtoul(argv[0], NULL, 10) << 30;
  char* const memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Say(-1);
  madvise(memory, size, MADV_NOHUGEPAGE);  // where there are none anyway, it says so
  for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
  static const char kDone[] = "OK\n";
  if (write(STDOUT_FILENO, kDone, sizeof kDone - 1) < 0) return 97;
  for (;;) pause();
}
