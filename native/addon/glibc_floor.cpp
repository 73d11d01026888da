// Keeps the addon loadable on old C libraries: the definitions here replace symbols that glibc 2.28
// does not have, or has under an older version (scripts/checks/glibc.mjs). Hidden from the other
// libraries in the process.
#include <fcntl.h>
#include <features.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>

// libstdc++'s shared_ptr leaves atomics out if glibc 2.32's __libc_single_threaded is set; 0 is
// right for a Node process, which has several threads.
char __libc_single_threaded = 0;
#endif

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__x86_64__)
#define NATIVE_RUNNER_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define NATIVE_RUNNER_FIRST_GLIBC "GLIBC_2.17"
#endif
#endif

#ifdef NATIVE_RUNNER_FIRST_GLIBC
#define NATIVE_RUNNER_HIDDEN extern "C" __attribute__((visibility("hidden")))

// Functions since glibc 2.33, inline before. On these processors the kernel's struct stat is
// glibc's.
NATIVE_RUNNER_HIDDEN int fstat(int file, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}
// The names that libuv uses.
NATIVE_RUNNER_HIDDEN int fstat64(int file, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}
NATIVE_RUNNER_HIDDEN int stat64(const char* path, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
NATIVE_RUNNER_HIDDEN int lstat64(const char* path, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}
NATIVE_RUNNER_HIDDEN int fstatat(int directory, const char* path, struct stat* status,
                                 int flags) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, status, flags));
}
NATIVE_RUNNER_HIDDEN int mknodat(int directory, const char* path, mode_t mode,
                                 dev_t device) noexcept {
  return static_cast<int>(
      syscall(SYS_mknodat, directory, path, mode, static_cast<unsigned>(device)));
}

// glibc 2.34 has moved these from libpthread, which gave them another version.
extern "C" {
int FirstCreate(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                void* argument);
int FirstJoin(pthread_t thread, void** result);
int FirstTryLock(pthread_mutex_t* mutex);
}
__asm__(".symver FirstCreate, pthread_create@" NATIVE_RUNNER_FIRST_GLIBC);
__asm__(".symver FirstJoin, pthread_join@" NATIVE_RUNNER_FIRST_GLIBC);
__asm__(".symver FirstTryLock, pthread_mutex_trylock@" NATIVE_RUNNER_FIRST_GLIBC);

NATIVE_RUNNER_HIDDEN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                        void* (*start)(void*), void* argument) noexcept {
  return FirstCreate(thread, attributes, start, argument);
}
NATIVE_RUNNER_HIDDEN int pthread_join(pthread_t thread, void** result) {
  return FirstJoin(thread, result);
}
NATIVE_RUNNER_HIDDEN int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return FirstTryLock(mutex);
}
#endif
