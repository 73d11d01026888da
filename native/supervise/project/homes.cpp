#include "supervise/project/homes.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "protocol/order.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

using Paths = std::vector<std::string>;

bool IsBelowAnyOf(const Paths& above, const std::string& path) {
  return std::ranges::any_of(above, [&path](const auto& each) { return PathCovers(each, path); });
}

bool IsAboveAnyOf(const Paths& below, const std::string& path) {
  return std::ranges::any_of(below, [&path](const auto& each) { return PathCovers(path, each); });
}

// The kernel's file systems, of which commands have their own.
constexpr std::array kOfTheKernel = {"/dev", "/proc", "/sys"};

bool IsOwnDirectory(const std::string& path) {
  const bool is_kernels =
      std::ranges::any_of(kOfTheKernel, [&path](const char* top) { return PathCovers(top, path); });
  return !is_kernels && RealPath(path) == path &&
         faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

bool CanBeEntered(const std::string& path) {
  NotePath(path);
  auto opened = OpenPath(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  return opened && opened->valid();
}

}  // namespace

ProjectHome FindProjectHome(const ProjectPolicy& policy, const Paths& scratch, const Paths& secrets,
                            std::optional<Paths> mounts) {
  const std::string& home = policy.home;
  // The kernel makes no overlay over a directory with a mount that a user namespace has inherited.
  const bool has_locked = geteuid() != 0 && mounts && !mounts->empty();
  const bool can_be_shown = !home.empty() && !has_locked && mounts &&
                            !IsBelowAnyOf(scratch, home) && !IsBelowAnyOf(policy.folders, home) &&
                            !IsBelowAnyOf(secrets, home) && IsOwnDirectory(home);
  if (!can_be_shown) return {};
  ProjectHome shown{.path = home, .hidden = {}, .mounts = {}};
  for (const std::string& secret : secrets) {
    if (!PathCovers(home, secret) || IsBelowAnyOf(policy.folders, secret)) continue;
    const bool can_be_hidden = secret.find('\n') == std::string::npos &&
                               !IsAboveAnyOf(policy.folders, secret) &&
                               !IsBelowAnyOf(*mounts, secret);
    if (!can_be_hidden) return {};
    shown.hidden.push_back(secret);
  }
  shown.hidden = OutermostPaths(std::move(shown.hidden));
  for (std::string& mount : *mounts) {
    const bool is_shown = !IsBelowAnyOf(policy.folders, mount) &&
                          !IsBelowAnyOf(shown.hidden, mount) && CanBeEntered(mount);
    if (is_shown) shown.mounts.push_back(std::move(mount));
  }
  if (shown.mounts.size() + policy.folders.size() + 1 > kMostKept) return {};  // 1: a copy's folder
  return shown;
}

std::optional<Error> OrderHome(const ProjectHome& home, std::span<const PlacedDirectory> folders,
                               int descriptor, int launcher, SpawnPlan* plan) {
  TRY_ASSIGN(std::string step, NamedDirectory(home.path));
  step = kStepCache + std::to_string(descriptor) + ":" + step;
  for (const std::string& path : home.hidden)
    step += '\n' + path.substr(home.path.size() + 1);
  plan->caches.push_back(std::move(step));
  plan->spawn.inherited.push_back({launcher, descriptor});  // holds the number
  for (const std::string& path : home.mounts) {
    TRY_ASSIGN(std::string mount, NamedDirectory(path));
    plan->caches.push_back(kStepKept + mount);
  }
  for (const PlacedDirectory& folder : folders) {
    const bool is_in =
        PathCovers(home.path, folder.path) && !IsBelowAnyOf(home.mounts, folder.path);
    if (is_in) plan->caches.push_back(kStepKept + NamedFile(folder.identity, folder.path));
  }
  return std::nullopt;
}

namespace {

constexpr int kHomeFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kPlaceDirectory = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr mode_t kPlaceFile = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;

bool IsDirectoryAt(int directory, const char* path, int flags, bool* is_directory) {
  struct statx status {};
  if (statx(directory, path, flags, STATX_TYPE, &status) != 0) return false;
  *is_directory = S_ISDIR(status.stx_mode);
  return true;
}

// True if the place is there, behind no symbolic link. Also false on a kernel without openat2(2).
bool IsPlace(int home, const std::string& below, bool is_directory) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const Descriptor place(
      static_cast<int>(syscall(SYS_openat2, home, below.c_str(), &how, sizeof how)));
  bool is_one = false;
  return place.valid() && IsDirectoryAt(place.get(), "", AT_EMPTY_PATH, &is_one) &&
         is_one == is_directory;
}

// Enters the directory, which is made if it is missing. Returns an invalid descriptor, with errno.
Descriptor EnterPlace(int above, const std::string& name) {
  Descriptor entered(openat(above, name.c_str(), kHomeFlags));
  if (entered.valid() || errno != ENOENT) return entered;
  if (mkdirat(above, name.c_str(), kPlaceDirectory) != 0 && errno != EEXIST) return {};
  return Descriptor(openat(above, name.c_str(), kHomeFlags));
}

// Returns 0, or an errno.
int MakePlaceFile(int above, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor file(openat(above, name.c_str(), kFlags, kPlaceFile));
  if (file.valid()) return 0;
  if (errno != EEXIST) return errno;
  struct statx status {};
  if (statx(above, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) return errno;
  if (S_ISLNK(status.stx_mode)) return ELOOP;
  return S_ISDIR(status.stx_mode) ? EISDIR : 0;
}

Error InTheWay(const std::string& path, int error) {
  const bool is_link = error == ELOOP || error == ENOTDIR;
  return {ErrorCode::kSetup,
          "the host's tools and caches can't be shown at " + QuotedShort(path) + " in the home: " +
              (is_link ? "something else is there, or on the way" : std::strerror(error)),
          "remove it, use another home, or leave out the tool by `tools.exclude`, or `caches`"};
}

std::optional<Error> MakeHomePlace(int home, const HomeView& view, const std::string& below,
                                   bool is_directory) {
  const auto components = PathComponents(below);
  std::string path = view.directory;
  Descriptor entered;
  int above = home;
  for (std::size_t at = 0; at < components.size(); ++at) {
    const std::string name(components[at]);
    path = JoinPath(path, name);
    if (at + 1 == components.size() && !is_directory) {
      const int error = MakePlaceFile(above, name);
      if (error != 0) return InTheWay(path, error);
      return std::nullopt;
    }
    Descriptor next = EnterPlace(above, name);
    if (!next.valid()) return InTheWay(path, errno);
    entered = std::move(next);
    above = entered.get();
  }
  return std::nullopt;
}

// The targets in the home that no earlier one covers, relative to it: with one of these the rest is
// there.
std::vector<std::pair<std::string, const ShownPath*>> PlacesIn(const HomeView& view) {
  std::vector<std::pair<std::string, const ShownPath*>> places;
  std::vector<std::string_view> shown;
  for (const ShownPath& each : view.shown) {
    bool is_in_home = PathCovers(view.path, each.target) && !SamePath(view.path, each.target);
    for (const std::string_view earlier : shown)
      is_in_home = is_in_home && !PathCovers(earlier, each.target);
    if (is_in_home) places.emplace_back(each.target.substr(view.path.size() + 1), &each);
    shown.push_back(each.target);
  }
  return places;
}

bool IsShown(const HomeView& view, const std::string& path) {
  return std::any_of(view.shown.begin(), view.shown.end(),
                     [&path](const ShownPath& each) { return PathCovers(each.target, path); });
}

}  // namespace

std::optional<Error> MakeHomePlaces(const HomeView& view, const std::vector<MountPlace>& mounts) {
  if (view.directory.empty() || view.path.empty()) return std::nullopt;
  NotePath(view.directory);
  const Descriptor home(open(view.directory.c_str(), kHomeFlags));
  if (!home.valid()) {
    return Error{
        ErrorCode::kSetup,
        "the home " + QuotedShort(view.directory) + " can't be used: " + std::strerror(errno),
        "create the directory, or use another `home`"};
  }
  for (const auto& [below, shown] : PlacesIn(view)) {
    bool is_directory = false;
    NotePath(shown->source);
    // A source that is gone is reported by bwrap, which names it.
    if (!IsDirectoryAt(AT_FDCWD, shown->source.c_str(), 0, &is_directory)) continue;
    NotePath(view.directory);
    if (IsPlace(home.get(), below, is_directory)) continue;
    TRY(MakeHomePlace(home.get(), view, below, is_directory));
  }
  for (const ShownCache& cache : view.caches) {
    if (!PathCovers(view.path, cache.target) || IsShown(view, cache.target)) continue;
    const std::string below = cache.target.substr(view.path.size() + 1);
    if (IsPlace(home.get(), below, true)) continue;
    TRY(MakeHomePlace(home.get(), view, below, true));
  }
  for (const MountPlace& mount : mounts) {
    if (!PathCovers(view.path, mount.path) || IsShown(view, mount.path)) continue;
    if (SamePath(view.path, mount.path)) continue;
    const std::string below = mount.path.substr(view.path.size() + 1);
    if (IsPlace(home.get(), below, mount.is_directory)) continue;
    static_cast<void>(MakeHomePlace(home.get(), view, below, mount.is_directory));
  }
  return std::nullopt;
}

namespace {

constexpr const char* kHomeName = "home";
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kAtOnce = 256;  // entries, well under a millisecond
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls `each` with the name of each entry until it returns false. `directory` stays open.
template <typename Each>
void ForEachName(int directory, Each each) {
  DIR* const entries = fdopendir(openat(directory, ".", kDirectoryFlags));
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !each(entry->d_name)) break;
  }
  closedir(entries);
}

// Opens a directory that a command may have closed to its owner. By descriptor: a command of a host
// that was killed may still run, and put a link in the directory's place.
Descriptor OpenDirectory(int above, const char* name) {
  const Descriptor found(openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || fstat(found.get(), &status) != 0) return {};
  if ((status.st_mode & S_IRWXU) != S_IRWXU) static_cast<void>(SetModeOf(found.get(), S_IRWXU));
  return Descriptor(openat(found.get(), ".", kDirectoryFlags));
}

// Empties a directory without recursion, as a command may have nested its directories deeper than
// any stack: a directory that holds others gives them to the top one before it is removed.
class Emptier {
 public:
  Emptier(int top, std::size_t most) : top_(top), left_(most) {}

  // Returns true if the directory is empty; false after `most` entries, or if one can't be removed.
  bool Empty() {
    for (;;) {
      bool is_empty = true;
      bool is_going = true;
      ForEachName(top_, [&](const char* name) {
        is_empty = false;
        is_going = RemoveFromTop(name);
        return is_going;
      });
      if (is_empty) return true;
      if (!is_going) return false;
    }
  }

 private:
  bool Spend() { return left_ != 0 && left_-- != 0; }

  // Returns true if the entry is gone.
  static bool Remove(int directory, const char* name) {
    if (unlinkat(directory, name, 0) == 0) return true;
    if (errno != EISDIR && errno != EPERM) return errno == ENOENT;
    return unlinkat(directory, name, AT_REMOVEDIR) == 0;
  }

  bool RemoveFromTop(const char* name) {
    if (!Spend()) return false;
    if (Remove(top_, name)) return true;
    const Descriptor directory = OpenDirectory(top_, name);
    if (!directory.valid()) return false;
    bool is_going = true;
    ForEachName(directory.get(), [&](const char* below) {
      is_going = Spend() && (Remove(directory.get(), below) || Raise(directory.get(), below));
      return is_going;
    });
    return is_going && unlinkat(top_, name, AT_REMOVEDIR) == 0;
  }

  // Moves a directory into the top one, under a name that is free there.
  bool Raise(int above, const char* name) {
    // A directory that is moved to another must be writable, for its "..".
    if (!OpenDirectory(above, name).valid()) return false;
    for (;;) {
      const std::string free = ".raised-" + std::to_string(raised_++);
      if (renameat(above, name, top_, free.c_str()) == 0) return true;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
  }

  int top_;
  std::size_t left_;
  std::uint64_t raised_ = 0;
};

// Removes ID with all that is in it. Returns false after `most` entries, or if that can't be done.
bool RemoveHome(int homes, const char* id, int directory, std::size_t most) {
  const Descriptor home = OpenDirectory(directory, kHomeName);
  if (home.valid() && !Emptier(home.get(), most).Empty()) return false;
  static_cast<void>(unlinkat(directory, kHomeName, AT_REMOVEDIR));
  return unlinkat(homes, id, AT_REMOVEDIR) == 0;
}

std::string RandomName() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string name;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    name.push_back(kDigits[byte / kDigits.size()]);
    name.push_back(kDigits[byte % kDigits.size()]);
  }
  return name;
}

// Makes ID/ and locks it. A cleaner may have taken it for a left one in between, and removed it:
// then making what is below it fails.
Descriptor MakeLocked(int homes, const std::string& id) {
  if (mkdirat(homes, id.c_str(), S_IRWXU) != 0) return {};
  Descriptor made(openat(homes, id.c_str(), kDirectoryFlags));
  if (!made.valid() || flock(made.get(), LOCK_EX) != 0) return {};
  if (mkdirat(made.get(), kHomeName, S_IRWXU) != 0) return {};
  return made;
}

bool WriteFile(int directory, const char* name, const std::string& text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Descriptor file(openat(directory, name, kFlags, S_IRUSR | S_IWUSR));
  return file.valid() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Error NotMade(const std::string& homes, int error) {
  return {ErrorCode::kSetup,
          "no home can be made in " + QuotedShort(homes) + ": " + std::strerror(error),
          "make it writable, set XDG_STATE_HOME to a directory elsewhere, or use another `home`"};
}

}  // namespace

Result<std::shared_ptr<const PrivateHome>> PrivateHome::Make(const std::string& homes,
                                                             const std::string& git_config,
                                                             FileThreads* files, bool answers) {
  NotePath(homes);
  static_cast<void>(mkdir(homes.c_str(), S_IRWXU));  // if it was removed since lib has found it
  const Descriptor all(open(homes.c_str(), kDirectoryFlags));
  struct stat status {};
  if (!all.valid() || fstat(all.get(), &status) != 0) return NotMade(homes, errno);
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return NotMade(homes, EPERM);
  }
  std::shared_ptr<PrivateHome> made(new PrivateHome());
  made->homes_ = homes;
  made->files_ = files;
  made->answers_ = answers;
  constexpr int kMostNames = 3;  // a name that is taken, or was taken by a cleaner, is given up
  for (int tried = 0; tried < kMostNames && !made->directory_.valid(); ++tried) {
    made->id_ = RandomName();
    made->directory_ = MakeLocked(all.get(), made->id_);
  }
  if (!made->directory_.valid()) return NotMade(homes, errno);
  made->path_ = JoinPath(JoinPath(homes, made->id_), kHomeName);
  const Descriptor home(openat(made->directory_.get(), kHomeName, kDirectoryFlags));
  if (!home.valid()) return NotMade(homes, errno);
  if (!git_config.empty() && !WriteFile(home.get(), ".gitconfig", git_config)) {
    return NotMade(homes, errno);
  }
  return Result<std::shared_ptr<const PrivateHome>>(std::move(made));
}

PrivateHome::~PrivateHome() {
  if (!directory_.valid()) return;
  if (answers_ || files_ == nullptr) {
    const Descriptor all(open(homes_.c_str(), kDirectoryFlags));
    if (RemoveHome(all.get(), id_.c_str(), directory_.get(), kAtOnce)) return;
  }
  if (files_ == nullptr) return;
  // The lock goes with the work, and with the process.
  const auto directory = std::make_shared<Descriptor>(std::move(directory_));
  const auto remove = [homes = homes_, id = id_, directory] {
    NotePath(homes);
    const Descriptor all(open(homes.c_str(), kDirectoryFlags));
    static_cast<void>(RemoveHome(all.get(), id.c_str(), directory->get(), kAll));
  };
  files_->Do(directory.get(), remove, [](const std::optional<Error>& /*late*/) {});
}

void RemoveLeftHomes(const std::string& homes) {
  NotePath(homes);
  const Descriptor all(open(homes.c_str(), kDirectoryFlags));
  if (!all.valid()) return;
  ForEachName(all.get(), [&all](const char* id) {
    const Descriptor left(openat(all.get(), id, kDirectoryFlags));
    if (left.valid() && flock(left.get(), LOCK_EX | LOCK_NB) == 0) {
      static_cast<void>(RemoveHome(all.get(), id, left.get(), kAll));
    }
    return true;
  });
}

}  // namespace native_runner
