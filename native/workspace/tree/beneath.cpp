#include "workspace/tree/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>

#include "workspace/tree/file_stat.h"

namespace native_runner {

FileError Refused(const char* call, int number) {
  FileError error;
  error.call = call;
  error.number = number;
  return error;
}

FileError Unavailable(std::string message, std::string fix) {
  FileError error;
  error.kind = FileError::Kind::kSandbox;
  error.sandbox = {ErrorCode::kUnavailable, std::move(message), std::move(fix)};
  return error;
}

namespace {

constexpr std::size_t kLongestHop = PATH_MAX - 2;  // what the kernel takes at once, less a slash

// A slash at the end of a directory's path makes a link there one that is on the way: ELOOP.
int OpenAt2(int directory, std::string_view hop, int flags, std::uint64_t resolve) {
  std::string path(hop.empty() ? "." : hop);
  if ((flags & O_DIRECTORY) != 0) path += '/';
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = resolve;
  long fd = -1;
  do {
    fd = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
  } while (fd < 0 && errno == EINTR);
  return static_cast<int>(fd);
}

// EPERM is what a container's filter of system calls says; the kernel's own word for what is not
// permitted here is EACCES.
FileError OpenRefused(const char* call, int number) {
  if (number != ENOSYS && number != EPERM) return Refused(call, number);
  return Unavailable(std::string("files of a workspace need openat2: ") + std::strerror(number),
                     "use Linux 5.6 or newer, and a seccomp profile that allows openat2");
}

// The part of a path that fits into one call, up to a slash; all of it when it has none.
std::string_view HopOf(std::string_view path) {
  if (path.size() <= kLongestHop) return path;
  const std::size_t slash = path.rfind('/', kLongestHop);
  return slash == std::string_view::npos ? path : path.substr(0, slash);
}

}  // namespace

FileResult<Descriptor> OpenBeneath(int directory, std::string_view relative, int flags,
                                   const char* call, Mounts mounts) {
  constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::uint64_t resolve = kBeneath | (mounts == Mounts::kStay ? RESOLVE_NO_XDEV : 0);
  Descriptor reached;
  int from = directory;
  for (;;) {
    const std::string_view hop = HopOf(relative);
    const bool is_last = hop.size() == relative.size();
    const int fd = OpenAt2(from, hop, is_last ? flags : O_PATH | O_DIRECTORY, resolve);
    if (fd < 0) return OpenRefused(call, errno);
    reached = Descriptor(fd);
    if (is_last) return reached;
    from = reached.get();
    relative.remove_prefix(hop.size() + 1);
  }
}

FileResult<Beneath> Beneath::Open(const std::string& directory) {
  Descriptor opened(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid()) return Beneath(std::move(opened));
  FileError error;
  error.kind = FileError::Kind::kSandbox;
  error.sandbox = {ErrorCode::kSetup,
                   "shadowDir must be a directory when its files are used, got \"" + directory +
                       "\": " + std::strerror(errno),
                   "create the directory first"};
  return error;
}

FileResult<Descriptor> Beneath::Entry(std::string_view relative, const char* call) const {
  return OpenBeneath(directory(), relative, O_PATH, call);
}

FileResult<Descriptor> Beneath::Directory(std::string_view relative, const char* call) const {
  return OpenBeneath(directory(), relative, O_RDONLY | O_DIRECTORY | O_NONBLOCK, call);
}

FileResult<Place> Beneath::PlaceOf(std::string_view relative, const char* call) const {
  if (relative.empty()) return Refused(call, EBUSY);
  const std::size_t slash = relative.rfind('/');
  const bool is_top = slash == std::string_view::npos;
  const std::string_view parent = is_top ? "" : relative.substr(0, slash);
  auto opened = OpenBeneath(directory(), parent, O_PATH | O_DIRECTORY, call);
  if (!opened) return opened.error();
  return Place{std::move(*opened), std::string(relative.substr(is_top ? 0 : slash + 1))};
}

std::string DescriptorPath(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::optional<FileError> WhyNoDescriptorPath() {
  if (access("/proc/self/fd", F_OK) == 0) return std::nullopt;
  return Unavailable("files of a workspace need /proc, which is not mounted", "mount /proc");
}

FileResult<Descriptor> Reopen(int fd, int flags, const char* call) {
  int opened = -1;
  do {
    opened = open(DescriptorPath(fd).c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  if (opened >= 0) return Descriptor(opened);
  const int number = errno;
  if (number == ENOENT) {
    if (auto why = WhyNoDescriptorPath()) return std::move(*why);
  }
  return Refused(call, number);
}

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;

// A record of getdents64(2), which has no header.
struct Record {
  std::size_t length = 0;
  std::uint8_t type = 0;
  std::string_view name;
};

Record RecordAt(const char* at) {
  constexpr std::size_t kLengthAt = 16;
  constexpr std::size_t kTypeAt = 18;
  constexpr std::size_t kNameAt = 19;
  std::uint16_t length = 0;
  std::memcpy(&length, at + kLengthAt, sizeof(length));
  return {length, static_cast<std::uint8_t>(at[kTypeAt]), std::string_view(at + kNameAt)};
}

}  // namespace

Descent::Descent(Descriptor top, Mounts mounts) : mounts_(mounts) {
  steps_.push_back({std::move(top), 0, 0});
}

FileResult<Descent::Step> Descent::StepOf(Descriptor directory, const char* call) {
  const auto stat = StatOf(directory.get(), call);
  if (!stat) return stat.error();
  const FileVersion& version = stat.value().version;
  return Step{std::move(directory), version.device, version.inode};
}

FileResult<Done> Descent::Enter(const std::string& name, const char* call) {
  auto entered = OpenBeneath(directory(), name, kDirectoryFlags, call, mounts_);
  if (!entered) return entered.error();
  auto step = StepOf(std::move(*entered), call);
  if (!step) return step.error();
  steps_.push_back(std::move(*step));
  // The top is always held: it is where the walk was allowed to begin.
  if (steps_.size() > kMostHeld + 1) steps_[steps_.size() - 1 - kMostHeld].directory.Close();
  return Done{};
}

FileResult<Done> Descent::Leave(const char* call) {
  Step& above = steps_[steps_.size() - 2];
  if (!above.directory.valid()) {
    Descriptor up(openat(directory(), "..", kDirectoryFlags | O_NOFOLLOW | O_CLOEXEC));
    if (!up.valid()) return Refused(call, errno);
    auto step = StepOf(std::move(up), call);
    if (!step) return step.error();
    if (step->device != above.device || step->inode != above.inode) return Refused(call, EBUSY);
    above = std::move(*step);
  }
  steps_.pop_back();
  return Done{};
}

FileResult<Done> ReadNames(int directory, std::size_t most, std::vector<NamedType>& names) {
  std::array<char, std::size_t{32} << 10U> buffer{};
  while (names.size() < most) {
    const long size = syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    const bool was_removed = size < 0 && errno == ENOENT;
    if (size < 0 && !was_removed) return Refused("scandir", errno);
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const Record record = RecordAt(buffer.data() + at);
      at += record.length;
      if (record.name != "." && record.name != "..") {
        names.push_back({std::string(record.name), record.type});
      }
    }
  }
  return Done{};
}

}  // namespace native_runner
