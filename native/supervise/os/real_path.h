#pragma once

#include <string>

#include "policy/result.h"

namespace native_runner {

// The path with all symbolic links resolved; empty where it leads to nothing.
std::string RealPath(const std::string& path);

// The same as far as it is there, and the rest of it as it is: where an absolute path would be once
// it is made.
std::string RealPathAsFar(const std::string& path);

// Where what is open lies by now (proc_pid_fd(5)); kSetup where /proc does not tell.
Result<std::string> PathOf(int descriptor);

}  // namespace native_runner
