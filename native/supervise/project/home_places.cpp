#include "supervise/project/home_places.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
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

}  // namespace native_runner
