#pragma once

#include <optional>
#include <string>

#include "policy/result.h"

namespace native_runner {

// The small files in a transaction's directory, which a process that dies leaves whole or not at
// all. `directory` is open for reading.

// Puts a file in the place of the one that is there, 0600. `is_durable`: the text, and that it is
// there, are on disk when this returns (fsync(2)); else a loss of power may cost all of it.
std::optional<Error> ReplaceFile(int directory, const std::string& name, const std::string& text,
                                 bool is_durable);

// The name that its text has until it takes that place, and keeps where the process dies before.
std::string StagedName(const std::string& name);

// All of a file; nullopt: there is none. kSetup for anything but a regular file, a link included.
Result<std::optional<std::string>> ReadWholeFile(int directory, const std::string& name);

}  // namespace native_runner
