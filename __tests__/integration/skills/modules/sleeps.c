/* Sleeps for an hour. */
#include <unistd.h>

int main(void) { return sleep(3600) != 0; }
