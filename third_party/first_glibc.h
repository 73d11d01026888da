/* Included ahead of each of libuv's sources: what glibc 2.32 to 2.34 gave another version, as these
 * functions moved into libc.so or anew, is asked for in the version that it first had, so that the
 * addon stays loadable on old C libraries (scripts/checks/glibc.mjs, native/addon/glibc_floor.cpp).
 */
#include <features.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
#define FIRST_GLIBC(symbol, version) __asm__(".symver " #symbol ", " #symbol "@GLIBC_" version)
#else /* all that is older than the first glibc for this processor has its version */
#define FIRST_GLIBC(symbol, version) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.17")
#endif

FIRST_GLIBC(dlclose, "2.2.5");
FIRST_GLIBC(dlerror, "2.2.5");
FIRST_GLIBC(dlopen, "2.2.5");
FIRST_GLIBC(dlsym, "2.2.5");
FIRST_GLIBC(pthread_attr_setstacksize, "2.2.5");
FIRST_GLIBC(pthread_condattr_setclock, "2.3.3");
FIRST_GLIBC(pthread_once, "2.2.5");
FIRST_GLIBC(pthread_rwlock_destroy, "2.2.5");
FIRST_GLIBC(pthread_rwlock_init, "2.2.5");
FIRST_GLIBC(pthread_rwlock_rdlock, "2.2.5");
FIRST_GLIBC(pthread_rwlock_unlock, "2.2.5");
FIRST_GLIBC(pthread_setname_np, "2.12");
FIRST_GLIBC(pthread_sigmask, "2.2.5");
FIRST_GLIBC(sem_destroy, "2.2.5");
FIRST_GLIBC(sem_init, "2.2.5");
FIRST_GLIBC(sem_post, "2.2.5");
FIRST_GLIBC(sem_wait, "2.2.5");
#undef FIRST_GLIBC
#endif
