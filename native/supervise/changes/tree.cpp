#include "supervise/changes/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

#include "policy/text/path.h"

namespace native_runner {
namespace {

// openat2(2) and its struct are younger than the kernel headers that this may be built with.
constexpr long kOpenat2 = 437;
constexpr std::uint64_t kNoCrossing = 0x01;
constexpr std::uint64_t kNoMagicLinks = 0x02;
constexpr std::uint64_t kNoSymlinks = 0x04;
constexpr std::uint64_t kBeneath = 0x08;
struct OpenHow {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};

int OpenBeneath(int root, const std::string& path, std::uint64_t access = O_RDONLY) {
  const OpenHow how = {access | O_DIRECTORY | O_CLOEXEC, 0,
                       kNoCrossing | kNoMagicLinks | kNoSymlinks | kBeneath};
  const char* const place = path.empty() ? "." : path.c_str();
  long opened = 0;
  do {
    opened = syscall(kOpenat2, root, place, &how, sizeof how);
  } while (opened < 0 && (errno == EAGAIN || errno == EINTR));
  return static_cast<int>(opened);
}

// One that is open as O_PATH, as what it is by its descriptor: fchmod(2) takes no such.
bool SetMode(int directory, mode_t mode) {
  return chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), mode) == 0;
}

// One step down; a directory that is opened for it is added to `opened`. -1 with errno.
int EnterClosed(int parent, const std::string& name, std::vector<OpenedDirectory>* opened) {
  Descriptor place(OpenBeneath(parent, name, O_PATH));
  struct statx status {};
  if (!place.valid() || statx(place.get(), "", AT_EMPTY_PATH, STATX_MODE, &status) != 0) return -1;
  const mode_t mode = status.stx_mode & 07777U;
  const int at = place.get();
  if ((mode & S_IRWXU) != S_IRWXU && geteuid() != 0) {
    if (!SetMode(at, mode | S_IRWXU)) return -1;
    opened->emplace_back(std::move(place), mode);
  }
  return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

Error Failed(const std::string& what, int error) {
  return Error{ErrorCode::kSetup, what + ": " + std::strerror(error), ""};
}

}  // namespace

OpenedDirectory::~OpenedDirectory() {
  if (place_.valid()) SetMode(place_.get(), mode_);
}

Result<std::vector<std::string>> TreeDirectory::Names() const {
  const int copy = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseStream> stream(copy < 0 ? nullptr : fdopendir(copy));
  if (!stream) return Failed("a directory can't be read", errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return Failed("a directory can't be read", errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::optional<Node>> TreeDirectory::Look(const std::string& name) const {
  struct statx status {};
  constexpr unsigned kWanted = STATX_BASIC_STATS;
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (statx(directory_.get(), name.c_str(), flags, kWanted, &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Node>();
    return Failed(name, errno);
  }
  Node node;
  node.mode = status.stx_mode;
  node.uid = status.stx_uid;
  node.gid = status.stx_gid;
  node.size = status.stx_size;
  node.device_number = makedev(status.stx_rdev_major, status.stx_rdev_minor);
  node.changed_ns =
      static_cast<std::uint64_t>(status.stx_ctime.tv_sec) * kNanoseconds + status.stx_ctime.tv_nsec;
  return std::optional(node);
}

Result<std::string> TreeDirectory::Target(const std::string& link) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlinkat(directory_.get(), link.c_str(), target.data(), target.size());
  if (size < 0) return Failed(link, errno);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<Descriptor> TreeDirectory::OpenFile(const std::string& name) const {
  const int opened =
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) return Failed(name, errno);
  return Descriptor(opened);
}

Result<TreeDirectory> Tree::Open(const std::string& path) const {
  Descriptor opened(OpenBeneath(root_.get(), path));
  const int error = opened.valid() ? 0 : errno;
  // One may be listed and its entries not looked at.
  const bool is_closed =
      error == EACCES || (opened.valid() && faccessat(opened.get(), ".", X_OK, AT_EACCESS) != 0);
  if (is_closed && opens_closed_) return OpenClosed(path);
  if (!opened.valid()) return Failed(path.empty() ? "." : path, error);
  return TreeDirectory(std::move(opened));
}

// Each on the way may be one that keeps its owner out.
Result<TreeDirectory> Tree::OpenClosed(const std::string& path) const {
  std::vector<OpenedDirectory> opened;
  Descriptor at(EnterClosed(root_.get(), ".", &opened));
  for (const std::string_view name : PathComponents(path)) {
    if (!at.valid()) break;
    at = Descriptor(EnterClosed(at.get(), std::string(name), &opened));
  }
  if (!at.valid()) return Failed(path.empty() ? "." : path, errno);
  return TreeDirectory(std::move(at), std::move(opened));
}

Result<std::optional<TreeDirectory>> Tree::OpenIfThere(const std::string& path) const {
  const int opened = OpenBeneath(root_.get(), path);
  if (opened >= 0) return std::optional<TreeDirectory>(TreeDirectory(Descriptor(opened)));
  constexpr std::array kNone = {ENOENT, ENOTDIR, ELOOP, EXDEV};
  if (std::find(kNone.begin(), kNone.end(), errno) != kNone.end()) {
    return std::optional<TreeDirectory>();
  }
  return Failed(path.empty() ? "." : path, errno);
}

}  // namespace native_runner
