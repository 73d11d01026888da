#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "effects/tree/file_error.h"

namespace native_runner {

inline constexpr std::size_t kStateNumbers = 6;

// What tells a state of an entry from its others: st_mode, device, inode, size, mtime and ctime in
// nanoseconds.
using EntryState = std::array<std::uint64_t, kStateNumbers>;

// Of an entry of an open directory, through no symbolic link; of the descriptor itself where `name`
// is empty. `call` is that of a refusal. Any thread.
FileResult<EntryState> StateOf(int directory, const char* name, const char* call);

// As lstat(2) has it; a path with a NUL byte is EINVAL.
FileResult<EntryState> StateAt(const std::string& path);

}  // namespace native_runner
