#include "supervise/os/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOwnerOnly = 0700;

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseStream>;

// What stat(2) calls the file system.
bool DeviceOf(int descriptor, std::uint64_t* device) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0) return false;
  *device = (std::uint64_t{status.stx_dev_major} << 32U) | status.stx_dev_minor;
  return true;
}

// A command, and overlayfs itself (work/work), may leave a directory that its owner can't look
// into, search or write to; root can do all three.
Descriptor Enter(int parent, const char* name) {
  Descriptor opened(openat(parent, name, kDirectory));
  if (!opened.valid() && errno == EACCES && fchmodat(parent, name, kOwnerOnly, 0) == 0) {
    return Descriptor(openat(parent, name, kDirectory));
  }
  if (opened.valid() && geteuid() != 0) static_cast<void>(fchmod(opened.get(), kOwnerOnly));
  return opened;
}

// One directory at a time is open: the way down is kept as names, the way up is "..".
class Removal {
 public:
  explicit Removal(Descriptor top) : at_(std::move(top)) {}

  std::optional<Error> Run() {
    if (!DeviceOf(at_.get(), &device_)) return SystemError("statx", errno);
    for (;;) {
      const std::string below = RemoveEntries();
      if (errno_ != 0) return SystemError("unlinkat of a transaction's file", errno_);
      if (!below.empty()) {
        if (!GoDown(below)) return SystemError("openat of a transaction's directory", errno_);
      } else if (names_.empty()) {
        return std::nullopt;
      } else if (!GoUp()) {
        return SystemError("unlinkat of a transaction's directory", errno_);
      }
    }
  }

 private:
  // All that is no directory with something in it; the name of one that is, if there is any.
  std::string RemoveEntries() {
    const int copy = openat(at_.get(), ".", kDirectory);
    const Stream stream(copy < 0 ? nullptr : fdopendir(copy));
    if (!stream) {
      errno_ = errno;
      return {};
    }
    while (const dirent* entry = readdir(stream.get())) {
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      if (unlinkat(at_.get(), entry->d_name, 0) == 0) continue;
      if (errno != EISDIR && errno != EPERM) {
        errno_ = errno;
        return {};
      }
      if (unlinkat(at_.get(), entry->d_name, AT_REMOVEDIR) == 0) continue;
      if (errno != ENOTEMPTY && errno != EEXIST) {
        errno_ = errno;
        return {};
      }
      return entry->d_name;
    }
    return {};
  }

  bool GoDown(const std::string& name) {
    Descriptor below = Enter(at_.get(), name.c_str());
    std::uint64_t device = 0;
    if (!below.valid() || !DeviceOf(below.get(), &device)) return Fail(errno);
    if (device != device_) return Fail(EXDEV);
    at_ = std::move(below);
    names_.push_back(name);
    return true;
  }

  bool GoUp() {
    at_ = Descriptor(openat(at_.get(), "..", kDirectory));
    if (!at_.valid()) return Fail(errno);
    const std::string name = std::move(names_.back());
    names_.pop_back();
    return unlinkat(at_.get(), name.c_str(), AT_REMOVEDIR) == 0 || Fail(errno);
  }

  bool Fail(int error) {
    errno_ = error;
    return false;
  }

  Descriptor at_;
  std::uint64_t device_ = 0;
  std::vector<std::string> names_;
  int errno_ = 0;
};

}  // namespace

std::optional<Error> RemoveTree(int parent, const std::string& name) {
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return std::nullopt;
  if (errno == ENOTDIR) {
    if (unlinkat(parent, name.c_str(), 0) == 0) return std::nullopt;
    return SystemError("unlinkat", errno);
  }
  Descriptor top = Enter(parent, name.c_str());
  if (!top.valid()) return SystemError("openat", errno);
  if (auto error = Removal(std::move(top)).Run()) return error;
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return std::nullopt;
  return SystemError("unlinkat", errno);
}

}  // namespace native_runner
