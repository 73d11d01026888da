// A library for LD_PRELOAD: says into which program it was loaded.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

__attribute__((constructor)) static void Load(void) {
  dprintf(2, "spy: %s\n", program_invocation_short_name);
}
