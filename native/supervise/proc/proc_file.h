#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// Small files in /proc. Numbers of processes in them are those of that /proc, which may be that of
// an outer pid namespace.

// Up to 8 KiB of one; empty where there is none.
std::string ReadProcFile(const std::string& path);

// The numbers that a text begins with, between blanks; 0 for a negative one.
std::vector<std::uint64_t> LeadingNumbers(std::string_view text, int base = 10);

// Those in the line of a file that begins with `name`; empty where there is none.
std::vector<std::uint64_t> NumbersInLine(const std::string& path, std::string_view name,
                                         int base = 10);

// What /proc counts a pidfd's process as; 0 where that is gone or can't be seen.
pid_t NumberOfPidfd(int pidfd);

}  // namespace native_runner
