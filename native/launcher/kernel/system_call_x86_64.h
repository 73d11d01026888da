#pragma once

namespace native_runner {

inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

// clone(2): the new process calls `function(argument)` on the stack that ends at `stack_end`, a
// multiple of 16, and exits with what it returns. The caller goes on with the pid or -errno.
inline long CloneInto(long number, unsigned long flags, void* stack_end, int (*function)(void*),
                      void* argument, long exit_number) {
  long result = number;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  register long r12 __asm__("r12") = reinterpret_cast<long>(function);
  register long r13 __asm__("r13") = reinterpret_cast<long>(argument);
  register long r14 __asm__("r14") = exit_number;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %%r14, %%rax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_end), "d"(0l), "r"(r10), "r"(r8), "r"(r12), "r"(r13), "r"(r14)
      : "rcx", "r11", "memory", "cc");
  return result;
}

}  // namespace native_runner
