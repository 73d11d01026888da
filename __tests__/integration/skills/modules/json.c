/* Takes {"a": <integer>, "b": <integer>} and answers {"sum": <integer>}. */
#include <stdio.h>

int main(void) {
  long a = 0, b = 0;
  if (scanf(" { \"a\" : %ld , \"b\" : %ld }", &a, &b) != 2) {
    fprintf(stderr, "expected {\"a\": number, \"b\": number}\n");
    return 3;
  }
  printf("{\"sum\":%ld}", a + b);
  return 0;
}
