#include "supervise/project/root_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

// Each is a mount and a descriptor of bwrap.
constexpr std::size_t kMostRootEntries = 500;

constexpr const char* kOtherDirectory =
    "name the directory of an unpacked root file system, such as debootstrap makes";

Error RefusedRoot(const std::string& directory, const std::string& why, std::string fix) {
  return {ErrorCode::kSetup, "root names " + QuotedShort(directory) + ", which " + why,
          std::move(fix)};
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Returns the names in a directory, sorted.
Result<std::vector<std::string>> NamesIn(int directory, const std::string& path) {
  const int file = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return SystemError(("open " + path).c_str(), errno);
  const std::unique_ptr<DIR, CloseDirectory> stream(fdopendir(file));
  if (!stream) {
    const int error = errno;
    close(file);
    return SystemError("fdopendir", error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return SystemError(("read " + path).c_str(), errno);
  std::sort(names.begin(), names.end());
  return names;
}

// The type of an entry, as of lstat(2); 0: there is none.
mode_t TypeAt(int directory, const std::string& name) {
  struct statx status {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (statx(directory, name.c_str(), flags, STATX_TYPE, &status) != 0) return 0;
  return status.stx_mode & S_IFMT;
}

Descriptor EnterIn(int directory, const std::string& name) {
  return Descriptor(openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The type that a place has to have already; 0: nothing may be there.
mode_t TypeOf(RootPlace::Type type) {
  switch (type) {
    case RootPlace::Type::kDirectory:
      return S_IFDIR;
    case RootPlace::Type::kFile:
      return S_IFREG;
    case RootPlace::Type::kLink:
      return 0;
  }
  return 0;
}

class RootLayout {
 public:
  RootLayout(const std::string& named, OpenedRoot* root, int first_descriptor)
      : named_(named), root_(root), next_descriptor_(first_descriptor) {}

  // Adds what is in `directory`, which commands see at `path` ("" for the root's own).
  std::optional<Error> Add(int directory, const std::string& path,
                           const std::vector<const RootPlace*>& places) {
    TRY_ASSIGN(const auto names, NamesIn(directory, root_->path + path));
    for (const std::string& name : names) {
      TRY(AddEntry(directory, name, path + "/" + name, places));
    }
    return std::nullopt;
  }

 private:
  using Kind = Mount::Kind;

  std::optional<Error> AddEntry(int directory, const std::string& name, const std::string& path,
                                const std::vector<const RootPlace*>& places) {
    // Leaves out the place of a mount, which the mount makes itself.
    if (std::any_of(places.begin(), places.end(),
                    [&path](const RootPlace* place) { return place->path == path; })) {
      return std::nullopt;
    }
    if (path == "/sys" || path == "/run") return AddDirectory(path);
    if (path == "/proc" || path == "/dev" || path == "/tmp") return std::nullopt;
    std::vector<const RootPlace*> below;
    std::copy_if(places.begin(), places.end(), std::back_inserter(below),
                 [&path](const RootPlace* place) { return PathCovers(path, place->path); });
    const mode_t type = TypeAt(directory, name);
    if (below.empty()) return AddWhole(directory, name, path, type);
    if (type != S_IFDIR) return AddOver(path, type, below);
    const Descriptor entered = EnterIn(directory, name);
    if (!entered.valid()) return SystemError(("open " + root_->path + path).c_str(), errno);
    TRY_ASSIGN(const bool has_all, HasAll(entered.get(), path, below));
    if (has_all) return AddWhole(directory, name, path, type);
    TRY(AddDirectory(path));
    return Add(entered.get(), path, below);
  }

  // Adds an entry that no place is in.
  std::optional<Error> AddWhole(int directory, const std::string& name, const std::string& path,
                                mode_t type) {
    if (type == S_IFLNK) {
      auto text = ReadLink(directory, name);
      if (!text) return SystemError(("readlink " + root_->path + path).c_str(), errno);
      return AddMount({.kind = Kind::kSymlink, .source = std::move(*text), .target = path});
    }
    if (type != S_IFDIR && type != S_IFREG) return std::nullopt;
    Descriptor file(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return SystemError(("open " + root_->path + path).c_str(), errno);
    root_->files.push_back(std::move(file));
    return AddMount({.kind = Kind::kReadOnlyBind,
                     .source = root_->path + path,
                     .target = path,
                     .descriptor = next_descriptor_++});
  }

  std::optional<Error> AddDirectory(const std::string& path) {
    return AddMount(OnTarget(Kind::kDirectory, path));
  }

  // Adds a directory where the root has something else above a place.
  std::optional<Error> AddOver(const std::string& path, mode_t type,
                               const std::vector<const RootPlace*>& below) {
    for (const RootPlace* place : below) {
      if (!place->may_hide) return InTheWay(path, type, *place);
    }
    return AddDirectory(path);
  }

  std::optional<Error> AddMount(Mount mount) {
    if (root_->mounts.size() >= kMostRootEntries) {
      const std::string above = ParentOf(mount.target);
      return RefusedRoot(named_,
                         "has more than " + std::to_string(kMostRootEntries) +
                             " entries to mount one by one, " + "since what has to be mounted in " +
                             above + " has no place there",
                         "create the place of the mount in that directory, or mount elsewhere");
    }
    root_->mounts.push_back(std::move(mount));
    return std::nullopt;
  }

  Error InTheWay(const std::string& path, mode_t type, const RootPlace& place) const {
    return RefusedRoot(named_,
                       std::string("has ") +
                           (type == S_IFLNK ? "a symbolic link" : "no directory") + " at " + path +
                           ", above what has to be at " + place.path,
                       "mount at the path that it leads to, or at another one");
  }

  // True if the directory at `path` has each of the places. An error for one behind a link.
  Result<bool> HasAll(int directory, const std::string& path,
                      const std::vector<const RootPlace*>& below) const {
    for (const RootPlace* place : below) {
      const std::string rest = place->path.substr(path.size());
      const auto components = PathComponents(rest);
      std::string at = path;
      Descriptor entered;
      int above = directory;
      for (std::size_t i = 0; i < components.size(); ++i) {
        const std::string name(components[i]);
        at += "/" + name;
        const mode_t type = TypeAt(above, name);
        const bool is_last = i + 1 == components.size();
        if (type == 0) return false;
        if (is_last) {
          if (type == TypeOf(place->type)) break;
          return false;  // the mount makes its own place
        }
        if (type != S_IFDIR) {
          if (place->may_hide) return false;
          return InTheWay(at, type, *place);
        }
        Descriptor next = EnterIn(above, name);
        if (!next.valid()) return SystemError(("open " + root_->path + at).c_str(), errno);
        entered = std::move(next);
        above = entered.get();
      }
    }
    return true;
  }

  const std::string& named_;
  OpenedRoot* root_;
  int next_descriptor_;
};

}  // namespace

Result<OpenedRoot> OpenRoot(const std::string& directory, const std::vector<RootPlace>& places,
                            int first_descriptor) {
  NotePath(directory);
  const Descriptor opened(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) {
    if (errno == ENOENT) return RefusedRoot(directory, "this host lacks", "create it");
    return RefusedRoot(directory,
                       errno == ENOTDIR ? "is no directory"
                                        : std::string("can't be opened: ") + std::strerror(errno),
                       kOtherDirectory);
  }
  OpenedRoot root;
  TRY_ASSIGN(root.path, PathOf(opened.get()));
  if (root.path == "/") {
    return RefusedRoot(directory, "is the host's own root directory", kOtherDirectory);
  }
  struct statx status {};
  if (statx(opened.get(), "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &status) != 0) {
    return SystemError("statx", errno);
  }
  if (status.stx_uid != 0 && status.stx_uid != geteuid()) {
    return RefusedRoot(directory, "belongs to another user, who could change what commands run",
                       "make a copy of your own");
  }
  if ((status.stx_mode & S_IWOTH) != 0) {
    return RefusedRoot(directory, "everybody can write to", "take that away: chmod o-w");
  }
  std::vector<const RootPlace*> all;
  for (const RootPlace& place : places) {
    const bool is_in_another =
        std::any_of(places.begin(), places.end(), [&place](const RootPlace& other) {
          return other.type == RootPlace::Type::kDirectory && !SamePath(other.path, place.path) &&
                 PathCovers(other.path, place.path);
        });
    if (!is_in_another) all.push_back(&place);
  }
  TRY(RootLayout(directory, &root, first_descriptor).Add(opened.get(), "", all));
  return root;
}

}  // namespace native_runner
