#include "policy/bubblewrap/ro_binds.h"

#include <algorithm>
#include <string_view>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

const HostFacts::Link* FindLink(const HostFacts& facts, const std::string& path) {
  for (const HostFacts::Link& link : facts.links) {
    if (SamePath(link.path, path)) return &link;
  }
  return nullptr;
}

bool Contains(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

enum class LinkUse {
  kLink,     // made again as a link
  kBind,     // bound as the directory that it leads to
  kNothing,  // another bind shows it already
};

LinkUse UseOf(const HostFacts::Link& link, const std::vector<std::string>& binds,
              const BubblewrapPolicy& policy, const HostFacts& facts) {
  const std::string& path = link.path;
  const std::string target = LinkTarget(path, link.target);
  for (const HostMount& mount : policy.mounts) {
    if (PathCovers(path, mount.guest_path)) return LinkUse::kBind;  // a mount point, as below
  }
  bool target_is_bound = false;
  bool is_shown = false;
  for (const std::string& bind : binds) {
    if (SamePath(bind, path)) continue;
    // A mount point inside needs a real directory, whatever the order of the two.
    if (PathCovers(path, bind)) return LinkUse::kBind;
    is_shown |= PathCovers(bind, path);
    target_is_bound |= FindLink(facts, bind) == nullptr && PathCovers(bind, target);
  }
  if (!target_is_bound) return LinkUse::kBind;
  return is_shown ? LinkUse::kNothing : LinkUse::kLink;
}

// Where `secret` appears under a bind of `source` at `target`; empty when it does not.
std::string SeenAt(std::string_view secret, std::string_view source, std::string_view target) {
  if (!PathCovers(source, secret)) return "";
  const std::string normal_source = NormalPath(source);
  const std::string normal_secret = NormalPath(secret);
  const std::size_t skip = normal_source == "/" ? 1 : normal_source.size() + 1;
  if (normal_secret.size() <= skip) return NormalPath(target);
  return JoinPath(NormalPath(target), std::string_view(normal_secret).substr(skip));
}

// By one of the policy's mounts from `first` on: a mask there would be made in another directory.
bool IsHiddenByMount(const std::string& place, const std::vector<Mount>& binds, std::size_t first) {
  for (std::size_t i = first; i < binds.size(); ++i) {
    if (binds[i].number && PathCovers(binds[i].target, place)) return true;
  }
  return false;
}

std::vector<std::string> PlacesOf(const std::vector<std::string>& secrets,
                                  const std::vector<Mount>& binds, const HostFacts& facts) {
  std::vector<std::string> places;
  const auto add = [&places](std::string place) {
    if (!place.empty() && !Contains(places, place)) places.push_back(std::move(place));
  };
  for (const std::string& secret : secrets) {
    for (std::size_t i = 0; i < binds.size(); ++i) {
      const Mount& bind = binds[i];
      if (bind.kind == Mount::Kind::kSymlink) continue;
      std::string place = SeenAt(secret, bind.source, bind.target);
      if (!IsHiddenByMount(place, binds, i + 1)) add(std::move(place));
      const HostFacts::Link* link = FindLink(facts, bind.source);
      if (link != nullptr) add(SeenAt(secret, LinkTarget(link->path, link->target), bind.target));
    }
  }
  return places;
}

}  // namespace

const std::vector<std::string>& RoBindsOf(const BubblewrapPolicy& policy) {
  const bool is_default = !policy.ro_binds_named && policy.ro_binds.empty();
  return is_default ? DefaultRoBinds() : policy.ro_binds;
}

std::vector<Mount> PlanRoBinds(const BubblewrapPolicy& policy, const HostFacts& facts) {
  std::vector<std::string> binds = RoBindsOf(policy);
  if (!policy.ro_binds_named) {
    std::erase_if(binds,
                  [&facts](const std::string& path) { return Contains(facts.missing, path); });
  }
  std::vector<Mount> mounts;
  mounts.reserve(binds.size());
  std::vector<std::string> made_links;
  for (const std::string& path : binds) {
    const HostFacts::Link* link = FindLink(facts, path);
    const LinkUse use = link == nullptr ? LinkUse::kBind : UseOf(*link, binds, policy, facts);
    if (use == LinkUse::kBind) {
      mounts.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = path, .target = path});
    } else if (use == LinkUse::kLink && !Contains(made_links, NormalPath(path))) {
      made_links.push_back(NormalPath(path));
      mounts.push_back({.kind = Mount::Kind::kSymlink, .source = link->target, .target = path});
    }
  }
  return mounts;
}

std::vector<Mount> PlanMasks(const std::vector<Mount>& binds, const HostFacts& facts) {
  std::vector<Mount> masks;
  std::vector<std::string> masked;
  // A mask inside a masked directory would have no mount point, and nothing to hide.
  const auto is_masked = [&masked](const std::string& place) {
    return std::any_of(masked.begin(), masked.end(),
                       [&place](const std::string& above) { return PathCovers(above, place); });
  };
  std::vector<std::string> directories = PlacesOf(facts.secret_directories, binds, facts);
  std::sort(directories.begin(), directories.end());  // parents before what lies below them
  for (std::string& place : directories) {
    if (is_masked(place)) continue;
    masks.push_back({.kind = Mount::Kind::kTmpfs, .source = "", .target = place});
    masks.push_back({.kind = Mount::Kind::kRemountReadOnly, .source = "", .target = place});
    masked.push_back(std::move(place));
  }
  for (const std::string& place : PlacesOf(facts.secret_files, binds, facts)) {
    if (is_masked(place)) continue;
    masks.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = "/dev/null", .target = place});
  }
  return masks;
}

}  // namespace native_runner
