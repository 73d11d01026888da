#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

// Whether two files of this size, open for reading, have the same bytes. False also where one can't
// be read. Reads both as far as they are the same.
bool HaveSameBytes(int one, int other, std::uint64_t size);

// The same for files, open for reading, that have the same bytes; for others most often another,
// but not where somebody wants it to be the same. Nothing for one that can't be read.
std::optional<std::uint64_t> DigestOf(int file);

// Whether they have the same extended attributes of a user's (user.*), those apart in which
// overlayfs keeps its notes. False also where they can't be read.
bool HaveSameAttributes(int one, int other);

// Gives a file or directory those that another has; errno(3) where that fails.
bool CopyAttributes(int from, int to);

// Whether a file has this attribute, and with just this value where one is given. kSetup where that
// can't be read: it is not known then, which must not be taken for "no".
Result<bool> HasAttribute(int file, const char* name,
                          std::optional<std::string_view> value = std::nullopt);

}  // namespace native_runner
