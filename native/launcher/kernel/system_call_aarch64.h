#pragma once

namespace native_runner {

inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return x0;
}

// clone(2): the new process calls `function(argument)` on the stack that ends at `stack_end`, a
// multiple of 16, and exits with what it returns. The caller goes on with the pid or -errno.
inline long CloneInto(long number, unsigned long flags, void* stack_end, int (*function)(void*),
                      void* argument, long exit_number) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = static_cast<long>(flags);
  register long x1 __asm__("x1") = reinterpret_cast<long>(stack_end);
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register long x20 __asm__("x20") = reinterpret_cast<long>(function);
  register long x21 __asm__("x21") = reinterpret_cast<long>(argument);
  register long x22 __asm__("x22") = exit_number;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x21\n\t"
      "blr x20\n\t"
      "mov x8, x22\n\t"
      "svc 0\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x20), "r"(x21), "r"(x22)
      : "memory", "cc", "x30");
  return x0;
}

}  // namespace native_runner
