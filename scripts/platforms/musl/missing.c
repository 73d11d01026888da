// What Debian's libstdc++ and libgcc want of glibc and musl has not, so that they can stand in for those of
// a musl system, which Bun's build for musl is linked with. Takes the place of glibc's loader, which has
// some of it there. Nothing of this is the package's.
#define _GNU_SOURCE
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t value = 0;
  getrandom(&value, sizeof value, 0);
  return value;
}

size_t __strftime_l(char* to, size_t size, const char* format, const struct tm* time, locale_t locale) {
  return strftime_l(to, size, format, time, locale);
}

// Destructors of a thread's variables: never called.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  (void)destroy, (void)object, (void)library;
  return 0;
}

// Not found: libgcc asks dl_iterate_phdr(3) then.
int _dl_find_object(void* address, void* result) {
  (void)address, (void)result;
  return -1;
}

unsigned __cpu_model[4];
int __cpu_indicator_init(void) {
  return 0;
}
