/* Writes as many MiB as its input says. */
#include <stdio.h>
#include <string.h>

int main(void) {
  int mib = 0;
  static char block[1 << 16];
  if (scanf("%d", &mib) != 1) return 2;
  memset(block, 'x', sizeof block);
  for (int i = 0; i < mib * 16; i++) fwrite(block, 1, sizeof block, stdout);
  return 0;
}
