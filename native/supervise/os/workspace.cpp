#include "supervise/os/workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace native_runner {

Result<Workspace> OpenWorkspace(const std::string& shadow_dir) {
  const int fd = open(shadow_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return Error{ErrorCode::kSetup,
                 "shadowDir must be a directory when a run starts, got \"" + shadow_dir +
                     "\": " + std::strerror(errno),
                 "create the directory before calling exec"};
  }
  Workspace workspace{Descriptor(fd), {}};
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0) return SystemError(("readlink " + link).c_str(), errno);
  workspace.path.assign(path.data(), static_cast<std::size_t>(size));
  return workspace;
}

}  // namespace native_runner
