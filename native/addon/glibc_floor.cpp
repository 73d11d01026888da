#include <sys/single_threaded.h>

// Keeps the addon loadable on old C libraries. libstdc++'s shared_ptr asks glibc 2.32's
// __libc_single_threaded whether atomics may be left out; this definition answers "no", which is
// the truth in a Node process, and takes the place of the symbol that glibc 2.28 does not have.
char __libc_single_threaded = 0;
