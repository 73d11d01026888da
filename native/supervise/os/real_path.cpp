#include "supervise/os/real_path.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "policy/text/path.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

std::string RealPath(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? "" : resolved.data();
}

// A ".." is resolved after the links before it, as the kernel does.
std::string RealPathAsFar(const std::string& path) {
  std::string there = path;
  std::string rest;
  std::string real = RealPath(there);
  while (real.empty() && there.size() > 1) {
    const std::size_t end = there.find_last_not_of('/');
    const std::size_t slash = there.rfind('/', end);
    if (end == std::string::npos || slash == std::string::npos) break;
    const std::string_view name = std::string_view(there).substr(slash + 1, end - slash);
    rest = std::string("/").append(name).append(rest);
    there.resize(slash == 0 ? 1 : slash);
    real = RealPath(there);
  }
  return NormalPath(real + rest);
}

Result<std::string> PathOf(int descriptor) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0) return SystemError(("readlink " + link).c_str(), errno);
  return std::string(path.data(), static_cast<std::size_t>(size));
}

}  // namespace native_runner
