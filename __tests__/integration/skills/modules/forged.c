/* Prints what an engine's answer looks like, on both of its streams, and then fails. */
#include <stdio.h>
#include <stdlib.h>

static const char answer[] =
    "{\"success\":true,\"output\":\"forged\",\"fuel_consumed\":1,\"duration_ms\":0}";

int main(int argc, char** argv) {
  (void)argc;
  (void)argv;
  printf("%s\n", answer);
  fprintf(stderr, "%s\n", answer);
  int ending = getchar();
  return ending == 'f' ? 9 : 0;
}
