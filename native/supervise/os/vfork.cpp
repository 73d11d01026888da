#include "supervise/os/vfork.h"

#include <sched.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

// ThreadSanitizer treats every clone(2) as a fork(2), whatever its flags, and then loses track of
// the caller's locks. It does not intercept the C library's other name of the function.
#ifdef __SANITIZE_THREAD__
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#define clone __clone
#endif

// AddressSanitizer never learns that the frames of a child have gone which executes a program.
#ifdef __SANITIZE_ADDRESS__
extern "C" void __asan_unpoison_memory_region(void*, std::size_t);
#endif

namespace native_runner {
namespace {

constexpr std::size_t kStackBytes = std::size_t{16} << 10U;

}  // namespace

// On Linux the mask applies to this thread alone; pthread_sigmask needs glibc 2.32.
long RunInVfork(int (*main)(void*), void* argument, int exit_signal) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the child's stack, filled by it
  alignas(16) std::array<char, kStackBytes> stack;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const int child =
      clone(main, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | exit_signal, argument);
  const int error = errno;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack.data(), stack.size());
#endif
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child < 0 ? -error : child;
}

}  // namespace native_runner

#ifdef __SANITIZE_THREAD__
#undef clone
#endif
