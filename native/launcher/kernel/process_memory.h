#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace native_runner {

// Reads another process' NUL-terminated text, of which at most `size` bytes, the NUL included, are
// wanted. False: it can't be read, or is longer.
bool ReadText(pid_t process, std::uint64_t address, char* text, std::size_t size);

}  // namespace native_runner
