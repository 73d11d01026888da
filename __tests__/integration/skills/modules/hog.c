/* Takes memory and touches it until there is no more, and then fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* volatile kept;

int main(void) {
  const size_t step = 1 << 20;
  for (int taken = 0; taken < 65536; taken++) {
    char* block = malloc(step);
    if (block == NULL) {
      fprintf(stderr, "no memory after %d MiB\n", taken);
      abort();
    }
    memset(block, taken, step);
    kept = block; /* so that no compiler leaves the blocks out */
  }
  return 0;
}
