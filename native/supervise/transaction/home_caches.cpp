#include "supervise/transaction/home_caches.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "policy/text/text.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

// The lock goes with the overlays: with the last sandbox that shares them.
struct LockedCaches {
  Descriptor lock;
  std::shared_ptr<const MountedWorkspace> mounted;
  std::vector<ShownCache> caches;
};

std::mutex mutex;
std::map<std::string, std::weak_ptr<const LockedCaches>>& SharedCaches() {
  static auto* const shared = new std::map<std::string, std::weak_ptr<const LockedCaches>>();
  return *shared;
}

std::shared_ptr<const MountedWorkspace> MountedIn(std::shared_ptr<const LockedCaches> locked) {
  const MountedWorkspace* const mounted = locked->mounted.get();
  return {std::move(locked), mounted};
}

Error CannotKeep(const std::string& directory, int error) {
  return {ErrorCode::kSetup,
          "nothing can be kept in " + QuotedShort(directory) + ": " + std::strerror(error),
          "make it writable, or use `home: \"private\"`"};
}

// False once the home was cleared.
bool LeadsTo(const std::string& directory, const Descriptor& opened) {
  const Descriptor now(open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  auto there = IdentityOf(now.get());
  auto held = IdentityOf(opened.get());
  return there && held && *there == *held;
}

// "target" is a path in the home, which is a name of one directory so.
std::string NameOf(const ShownCache& cache) {
  std::string name = cache.target;
  std::ranges::replace(name, '/', '+');
  return name;
}

}  // namespace

Result<std::shared_ptr<const MountedWorkspace>> ShareHomeCaches(
    const std::string& launcher, const std::string& directory,
    const std::vector<ShownCache>& caches) {
  NotePath(directory);
  const std::lock_guard guard(mutex);
  auto& shared = SharedCaches()[directory];
  if (auto locked = shared.lock(); locked && LeadsTo(directory, locked->lock)) {
    if (locked->caches != caches) return std::shared_ptr<const MountedWorkspace>();
    return MountedIn(std::move(locked));
  }
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return CannotKeep(directory, errno);
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor lock(open(directory.c_str(), kFlags));
  if (!lock.valid()) return CannotKeep(directory, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::shared_ptr<const MountedWorkspace>();
  std::vector<CacheOverlay> overlays;
  overlays.reserve(caches.size());
  for (const ShownCache& cache : caches)
    overlays.push_back({cache.source, directory + "/" + NameOf(cache), cache.hidden});
  TRY_ASSIGN(auto mounted, MountCaches(launcher, overlays));
  const auto locked = std::make_shared<const LockedCaches>(
      LockedCaches{std::move(lock), std::move(mounted), caches});
  shared = locked;
  return MountedIn(locked);
}

}  // namespace native_runner
