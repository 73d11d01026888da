#pragma once

#include <string>

namespace native_runner {

// The path with all symbolic links resolved; empty where it leads to nothing.
std::string RealPath(const std::string& path);

// The same as far as it is there, and the rest of it as it is: where an absolute path would be once
// it is made.
std::string RealPathAsFar(const std::string& path);

}  // namespace native_runner
