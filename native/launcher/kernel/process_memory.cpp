#include "launcher/kernel/process_memory.h"

#include <algorithm>
#include <cstring>

#include "launcher/kernel/file_calls.h"

namespace native_runner {

bool ReadText(pid_t process, std::uint64_t address, char* text, std::size_t size) {
  constexpr std::size_t kPage = 4096;  // the smallest there is: one that is read may be the last
  for (std::size_t filled = 0; filled < size;) {
    const std::size_t rest = kPage - ((address + filled) % kPage);
    const std::size_t wanted = std::min<std::size_t>(rest, size - filled);
    const long got = kernel::ReadMemory(process, address + filled, text + filled, wanted);
    if (got <= 0) return false;
    if (std::memchr(text + filled, 0, static_cast<std::size_t>(got)) != nullptr) return true;
    filled += static_cast<std::size_t>(got);
  }
  return false;
}

}  // namespace native_runner
