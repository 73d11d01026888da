// libuv closes descriptors by syscall(SYS_close) (unix/core.c), which ThreadSanitizer does not
// intercept: it would report a race with the next user of the number. In this executable such a
// close goes by close(2), which it intercepts; any other call goes on to the C library.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

// Exported, so that it stands before the C library's.
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  using Syscall = long (*)(long, ...);
  static const auto next = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long arguments[6];  // syscall(2): as many as there may be; what was not passed is not looked at
  for (long& argument : arguments)
    argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_close) return close(static_cast<int>(arguments[0]));
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
