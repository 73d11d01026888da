#include "effects/commit/sites.h"

#include <cstddef>
#include <utility>

namespace native_runner {
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

}  // namespace native_runner
