#include "supervise/os/host_mount.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr const char* kFix = "remove it from mounts, or name a directory or a regular file";

// Of what can't be mounted; nullptr for what can.
const char* NameOfType(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
    case S_IFREG:
      return nullptr;
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

bool IsKernels(int file) {
  struct statfs status {};
  if (fstatfs(file, &status) != 0) return true;
  return status.f_type == PROC_SUPER_MAGIC || status.f_type == SYSFS_MAGIC;
}

Result<OpenedMount> Open(const std::vector<HostMount>& mounts, std::size_t index) {
  const HostMount& mount = mounts[index];
  const std::string named =
      HostPathField(mounts, index) + " names \"" + mount.host_path + "\", which ";
  const auto refused = [&named](const std::string& why, const char* fix) {
    return Error{ErrorCode::kSetup, named + why, fix};
  };
  OpenedMount opened;
  opened.file = Descriptor(open(mount.host_path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.file.valid()) {
    if (errno == ENOENT) return refused("this host lacks", "remove it from mounts, or create it");
    return refused(std::string("can't be opened: ") + std::strerror(errno), kFix);
  }
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE;
  if (statx(opened.file.get(), "", AT_EMPTY_PATH, kWanted, &status) != 0) {
    return SystemError("statx", errno);
  }
  if (const char* type = NameOfType(status.stx_mode)) {
    return refused(std::string("is ") + type, kFix);
  }
  opened.is_directory = S_ISDIR(status.stx_mode);
  if (mount.writable && IsKernels(opened.file.get())) {
    return refused("is the kernel's own, and must not be written", R"(mount it with mode "ro")");
  }
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(opened.file.get());
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0) return SystemError(("readlink " + link).c_str(), errno);
  opened.path.assign(path.data(), static_cast<std::size_t>(size));
  return opened;
}

}  // namespace

Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts) {
  std::vector<OpenedMount> opened;
  opened.reserve(mounts.size());
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    auto mount = Open(mounts, i);
    if (!mount) return mount.error();
    opened.push_back(std::move(*mount));
  }
  return opened;
}

}  // namespace native_runner
