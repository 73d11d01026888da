#include "supervise/os/workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "supervise/os/real_path.h"

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
  auto path = PathOf(fd);
  if (!path) return path.error();
  workspace.path = std::move(*path);
  return workspace;
}

}  // namespace native_runner
