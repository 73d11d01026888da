// The entry point: the kernel starts us here, with the stack aligned, and nothing stands behind us.
// On the stack is the number of our arguments, which is all of them that LauncherMain wants to
// know.

#include <asm/unistd.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

#if defined(__x86_64__)
__asm__(
    ".globl _start\n"
    ".type _start, @function\n"
    "_start:\n\t"
    "xor %ebp, %ebp\n\t"
    "mov (%rsp), %rdi\n\t"
    "call LauncherMain\n\t"
    "mov %eax, %edi\n\t"
    "mov $" TEXT(__NR_exit_group) ", %eax\n\t"
    "syscall\n\t"
    "hlt\n");
#elif defined(__aarch64__)
__asm__(
    ".globl _start\n"
    ".type _start, %function\n"
    "_start:\n\t"
    "mov x29, xzr\n\t"
    "mov x30, xzr\n\t"
    "ldr x0, [sp]\n\t"
    "bl LauncherMain\n\t"
    "mov x8, #" TEXT(__NR_exit_group) "\n\t"
    "svc 0\n\t"
    "brk 0\n");
#endif
