#include "workspace/commit/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "supervise/os/descriptor.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

// Returns true if nothing else has the file open, whose descriptor is for reading only.
bool IsOpenedOnlyHere(int file) {
  // Whoever opens the file while the lease lasts has a signal sent to this process: one that is
  // ignored by default, in place of SIGIO, which ends it.
  if (fcntl(file, F_SETSIG, SIGURG) != 0) return false;
  if (fcntl(file, F_SETLEASE, F_WRLCK) != 0) return false;
  return fcntl(file, F_SETLEASE, F_UNLCK) == 0;
}

// Returns the names of overlayfs' attributes of a file; none also where the file system has no
// attributes.
std::vector<std::string> NotesOf(int file) {
  constexpr std::string_view kNotes = "user.overlay.";
  constexpr std::size_t kOften = 512;
  constexpr std::size_t kMostNames = std::size_t{64} << 10U;  // XATTR_LIST_MAX in Linux
  std::string names(kOften, '\0');
  ssize_t size = flistxattr(file, names.data(), names.size());
  if (size < 0 && errno == ERANGE) {
    names.resize(kMostNames);
    size = flistxattr(file, names.data(), names.size());
  }
  std::vector<std::string> notes;
  for (const char* at = names.data(); size > 0 && at < names.data() + size;
       at += std::strlen(at) + 1) {
    if (std::string_view(at).starts_with(kNotes)) notes.emplace_back(at);
  }
  return notes;
}

// `mode`: of the file, which gets another one meanwhile if it keeps its owner from writing.
std::optional<Error> RemoveNotes(int file, const std::string& name,
                                 const std::vector<std::string>& notes, mode_t mode) {
  const bool is_shut = (mode & S_IWUSR) == 0;
  if (is_shut && fchmod(file, mode | S_IWUSR) != 0) {
    return SystemError((name + ": fchmod").c_str(), errno);
  }
  std::optional<Error> error;
  for (const std::string& note : notes)
    if (fremovexattr(file, note.c_str()) != 0 && errno != ENODATA && !error) {
      error = SystemError((name + ": fremovexattr").c_str(), errno);
    }
  if (is_shut && fchmod(file, mode) != 0 && !error) {
    error = SystemError((name + ": fchmod").c_str(), errno);
  }
  return error;
}

// Puts other contents into a copy, whose mode may keep its owner out, and gives it its mode after
// that: write(2) takes set-user-ID bits away.
std::optional<Error> Rewrite(int entry, const std::string& path, const HostFile& copy,
                             std::span<const std::uint8_t> contents) {
  const std::string place = DescriptorPath(entry);
  if (chmod(place.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return SystemError((path + ": chmod").c_str(), errno);
  }
  const Descriptor file(open(place.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return SystemError((path + ": open").c_str(), errno);
  while (!contents.empty()) {
    const ssize_t written = write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError((path + ": write").c_str(), errno);
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
  if (fchmod(file.get(), copy.mode & kModeBits) != 0) {
    return SystemError((path + ": fchmod").c_str(), errno);
  }
  return std::nullopt;
}

// Lets this user read a file whose mode keeps its owner out, as long as the result lives. nullopt:
// the mode does not, or can't be changed.
std::optional<OpenedDirectory> LetIn(const ScannedDirectory& from, const std::string& name,
                                     const Node& mine) {
  const bool is_shut = mine.is_file() && (mine.mode & S_IRUSR) == 0 && geteuid() != 0;
  if (!is_shut) return std::nullopt;
  auto place = OpenBeneath(from.descriptor(), name, O_PATH, "open", Mounts::kStay);
  const mode_t mode = mine.mode & kModeBits;
  if (!place) return std::nullopt;
  return OpenedDirectory::Open(std::move(*place), mode, S_IRUSR);
}

Error ChangedMeanwhile(const std::string& path) {
  return Error{ErrorCode::kSetup, path + " was changed while it was to be committed", ""};
}

}  // namespace

Result<std::optional<Node>> MakeMovable(const ScannedDirectory& directory, const std::string& name,
                                        const Node& node) {
  const std::optional<Node> none;
  if (node.links > 1) return none;
  if (!node.is_file()) return std::optional(node);
  const auto file = directory.OpenFile(name);
  if (!file) return none;
  const int opened = file.value().get();
  auto now = NodeOf(opened);
  if (!now || !now->IsSameInode(node) || now->links > 1 || !IsOpenedOnlyHere(opened)) return none;
  const auto notes = NotesOf(opened);
  if (notes.empty()) return std::optional(*now);
  if (auto error = RemoveNotes(opened, name, notes, now->mode & kModeBits)) return *error;
  now = NodeOf(opened);
  if (!now) return now.error();
  return std::optional(*now);
}

Result<HostFile> Staging::Copy(const std::string& path, const HostFile& like,
                               const std::string& name) {
  const auto [parent, last] = SplitPath(path);
  const auto from = upper_.Open(parent);
  if (!from) return from.error();
  const auto mine = from.value().Look(std::string(last));
  if (!mine) return mine.error();
  if (mine.value() && mine.value()->links > 1) {
    const std::pair file(mine.value()->device, mine.value()->inode);
    const auto [known, is_first] = linked_.emplace(file, name);
    if (!is_first) {
      if (linkat(backup_, known->second.c_str(), backup_, name.c_str(), 0) != 0) {
        return SystemError((path + ": linkat").c_str(), errno);
      }
      return Made(name, path);
    }
  }
  return CopyAlone(from.value(), path, like, name);
}

Result<HostFile> Staging::CopyWith(std::span<const std::uint8_t> contents, const std::string& path,
                                   const HostFile& like, const std::string& name) {
  const auto from = upper_.Open(SplitPath(path).parent);
  if (!from) return from.error();
  auto copied = CopyAlone(from.value(), path, like, name);
  if (!copied) return copied;
  const Descriptor entry(openat(backup_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!entry.valid()) return SystemError((path + ": openat").c_str(), errno);
  if (auto error = Rewrite(entry.get(), path, copied.value(), contents)) return std::move(*error);
  return Made(name, path);
}

std::optional<Error> Staging::Flush() const {
  if (!has_copies_ || syncfs(backup_) == 0) return std::nullopt;
  return SystemError("syncfs", errno);
}

// Makes a copy that is no link to another.
Result<HostFile> Staging::CopyAlone(const ScannedDirectory& from, const std::string& path,
                                    const HostFile& like, const std::string& name) {
  const std::string own(SplitPath(path).name);
  const auto mine = from.Look(own);
  if (!mine) return mine.error();
  const auto let_in = mine.value() ? LetIn(from, own, *mine.value()) : std::nullopt;
  has_copies_ = true;
  const auto copied = CopyEntry(from, own, backup_, name, path, CopyRules{&progress_, &like});
  if (!copied) return copied.error();
  if (!copied.value()) return ChangedMeanwhile(path);
  const Node& original = copied.value()->original;
  const bool is_same =
      original.IsSameInode(like) && (let_in.has_value() || original.changed_ns == like.changed_ns);
  if (!is_same) return ChangedMeanwhile(path);
  return HostFile(copied.value()->copy);
}

Result<HostFile> Staging::Made(const std::string& name, const std::string& path) const {
  const Descriptor made(openat(backup_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return SystemError((path + ": openat").c_str(), errno);
  auto node = NodeOf(made.get());
  if (!node) return node.error();
  return HostFile(*node);
}

}  // namespace native_runner
