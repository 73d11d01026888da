#include "effects/commit/sites.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

constexpr unsigned kMountId = 0x1000;  // STATX_MNT_ID, of Linux 5.8

}  // namespace

Result<std::optional<Node>> Sites::Look(const SitePath& place) const {
  const auto [parent, name] = SplitPath(place.path);
  auto directory = Of(place.site).OpenIfThere(parent);
  if (!directory) return directory.error();
  if (!*directory) return std::optional<Node>();
  return (*directory)->Look(std::string(name));
}

Result<const ScannedDirectory*> SitesView::ParentOf(const SitePath& place) {
  auto& held = held_[static_cast<std::size_t>(place.site)];
  const std::string_view parent = SplitPath(place.path).parent;
  if (!held || held->path != parent) {
    held.reset();  // what was opened for it is shut before
    auto directory = sites_.Of(place.site).OpenIfThere(parent);
    if (!directory) return directory.error();
    held.emplace(Held{std::string(parent), std::move(*directory)});
  }
  const ScannedDirectory* found = held->directory ? &*held->directory : nullptr;
  return found;
}

Result<std::optional<Node>> SitesView::Look(const SitePath& place) {
  const auto parent = ParentOf(place);
  if (!parent) return parent.error();
  if (parent.value() == nullptr) return std::optional<Node>();
  return parent.value()->Look(std::string(SplitPath(place.path).name));
}

std::string Shown(const SitePath& place) {
  return place.path.empty() ? "." : place.path;
}

std::optional<Error> CheckOneMount(int one, int other) {
  struct statx first {};
  struct statx second {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | kMountId;
  if (statx(one, "", AT_EMPTY_PATH, kWanted, &first) != 0 ||
      statx(other, "", AT_EMPTY_PATH, kWanted, &second) != 0) {
    return SystemError("statx", errno);
  }
  const bool is_one_device =
      first.stx_dev_major == second.stx_dev_major && first.stx_dev_minor == second.stx_dev_minor;
  const bool knows_mounts = (first.stx_mask & second.stx_mask & kMountId) != 0;
  if (is_one_device && (!knows_mounts || first.stx_mnt_id == second.stx_mnt_id)) {
    return std::nullopt;
  }
  return Error{ErrorCode::kSetup,
               "the transaction is kept on another file system, or behind another mount, than the "
               "workspace, and can't be committed",
               "open transactions with a `directory` on the workspace's file system"};
}

}  // namespace native_runner
