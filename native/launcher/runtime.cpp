#include <asm/unistd.h>

#include <cstddef>
#include <cstdint>

// The entry point: the kernel starts the launcher here, with the stack aligned and no caller. The
// stack holds the number of arguments, the only thing about them that LauncherMain uses.

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

// The functions of <cstring> that compilers call implicitly and the launcher uses, as no C library
// is linked. Barriers keep the compiler from recognizing a loop and calling the very function that
// contains it.

namespace {

using Byte = unsigned char;

// Reading a word may go beyond the end of a text: being aligned, it does not leave the page.
struct [[gnu::may_alias]] Word {
  std::uint64_t bits;
};

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

inline void Barrier() {
  __asm__ volatile("" : : : "memory");
}

inline bool IsAligned(const Byte* at) {
  return (reinterpret_cast<std::uintptr_t>(at) % sizeof(Word)) == 0;
}

inline bool HasZero(std::uint64_t bits) {
  return ((bits - kOnes) & ~bits & kHighs) != 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the language's.
extern "C" {

void* memcpy(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<Byte*>(to);
  const auto* source = static_cast<const Byte*>(from);
  for (; size != 0; --size) {
    *target++ = *source++;
    Barrier();
  }
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<Byte*>(to);
  const auto* source = static_cast<const Byte*>(from);
  if (target <= source) return memcpy(to, from, size);
  while (size-- != 0) {
    target[size] = source[size];
    Barrier();
  }
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  auto* target = static_cast<Byte*>(to);
  const std::uint64_t bits = kOnes * static_cast<Byte>(value);
  for (; size != 0 && !IsAligned(target); --size)
    *target++ = static_cast<Byte>(value);
  for (; size >= sizeof(Word); size -= sizeof(Word), target += sizeof(Word)) {
    reinterpret_cast<Word*>(target)->bits = bits;
    Barrier();
  }
  for (; size != 0; --size) {
    *target++ = static_cast<Byte>(value);
    Barrier();
  }
  return to;
}

int memcmp(const void* left, const void* right, std::size_t size) {
  const auto* a = static_cast<const Byte*>(left);
  const auto* b = static_cast<const Byte*>(right);
  for (; size != 0; --size, ++a, ++b) {
    if (*a != *b) return *a - *b;
    Barrier();
  }
  return 0;
}

void* memchr(const void* text, int byte, std::size_t size) {
  const auto* at = static_cast<const Byte*>(text);
  const auto wanted = static_cast<Byte>(byte);
  const std::uint64_t pattern = kOnes * wanted;
  for (; size != 0 && !IsAligned(at); --size, ++at) {
    if (*at == wanted) return const_cast<Byte*>(at);
  }
  while (size >= sizeof(Word) && !HasZero(reinterpret_cast<const Word*>(at)->bits ^ pattern)) {
    size -= sizeof(Word);
    at += sizeof(Word);
  }
  for (; size != 0; --size, ++at) {
    if (*at == wanted) return const_cast<Byte*>(at);
  }
  return nullptr;
}

std::size_t strlen(const char* text) {
  return static_cast<std::size_t>(static_cast<const char*>(memchr(text, 0, SIZE_MAX)) - text);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
