// Preloaded beside ThreadSanitizer's runtime. glibc puts thread-local data on a thread's stack, and
// that runtime has 768 KiB of it; Node lets a worker's stack grow to 192 KiB below the 4 MiB that
// it asks for, so endless recursion would crash the process instead of throwing. Every stack gets
// more.
#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>

namespace {
constexpr std::size_t kThreadLocalBytes = 1 << 20;
}

extern "C" int pthread_attr_setstacksize(pthread_attr_t* attributes, std::size_t bytes) noexcept {
  using Function = int (*)(pthread_attr_t*, std::size_t);
  static const auto next =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_attr_setstacksize"));
  return next(attributes, bytes + kThreadLocalBytes);
}
