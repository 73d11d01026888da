#include "policy/bubblewrap/bubblewrap_mounts.h"

#include <algorithm>
#include <utility>

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
    // A mount point inside needs a real directory, whichever of the two comes first.
    if (PathCovers(path, bind)) return LinkUse::kBind;
    is_shown |= PathCovers(bind, path);
    target_is_bound |= FindLink(facts, bind) == nullptr && PathCovers(bind, target);
  }
  if (!target_is_bound) return LinkUse::kBind;
  return is_shown ? LinkUse::kNothing : LinkUse::kLink;
}

// Returns where `secret` appears under a bind of `source` at `target`; empty if it does not.
std::string SeenAt(std::string_view secret, std::string_view source, std::string_view target) {
  if (!PathCovers(source, secret)) return "";
  const std::string normal_source = NormalPath(source);
  const std::string normal_secret = NormalPath(secret);
  const std::size_t skip = normal_source == "/" ? 1 : normal_source.size() + 1;
  if (normal_secret.size() <= skip) return NormalPath(target);
  return JoinPath(NormalPath(target), std::string_view(normal_secret).substr(skip));
}

// True if one of the policy's mounts from `first` on hides `place`. A mask there would be made in
// another directory.
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
  static const std::vector<std::string> none;
  if (HasOwnRoot(policy)) return none;
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

namespace {

bool IsBind(const Mount& mount) {
  return mount.kind == Mount::Kind::kBind || mount.kind == Mount::Kind::kReadOnlyBind;
}

bool Covers(const Mount& mount) {
  return IsBind(mount) || mount.kind == Mount::Kind::kTmpfs || mount.kind == Mount::Kind::kHome;
}

MountPoint PointIn(const Mount& base, const Mount& mount, const std::string& workspace) {
  MountPoint point;
  point.mount = *mount.number;
  if (base.number) {
    point.base = MountPoint::Base::kMount;
    point.base_mount = *base.number;
    point.may_make = base.kind == Mount::Kind::kBind;
  } else if (SamePath(base.target, workspace)) {
    point.base = MountPoint::Base::kWorkspaceBind;
    point.may_make = true;
  } else {
    point.may_make = base.kind == Mount::Kind::kBind;  // a home
  }
  point.base_path = base.source;
  const std::string above = NormalPath(base.target);
  const std::size_t skip = above == "/" ? 1 : above.size() + 1;
  if (mount.target.size() > skip) point.below = mount.target.substr(skip);
  return point;
}

}  // namespace

HostMounts PlanHostMounts(const BubblewrapPolicy& policy, const HostFacts& facts,
                          int first_descriptor) {
  HostMounts planned;
  for (std::size_t i = 0; i < policy.mounts.size(); ++i) {
    const HostMount& mount = policy.mounts[i];
    const bool is_inside = PathCovers(policy.workspace_path, mount.guest_path);
    auto& list = is_inside ? planned.in_workspace : planned.outside;
    list.push_back(
        {.kind = mount.writable ? Mount::Kind::kBind : Mount::Kind::kReadOnlyBind,
         .source = i < facts.mounts.size() ? facts.mounts[i] : mount.host_path,
         .target = NormalPath(mount.guest_path),
         .descriptor = first_descriptor < 0 ? -1 : first_descriptor + static_cast<int>(i),
         .number = i});
  }
  return planned;
}

std::vector<MountPoint> FindMountPoints(const BubblewrapPlan& plan, const std::string& workspace) {
  std::vector<MountPoint> points;
  for (auto mount = plan.mounts.begin(); mount != plan.mounts.end(); ++mount) {
    if (!mount->number) continue;
    auto base = mount;  // the last one before `mount` that covers it
    while (base != plan.mounts.begin()) {
      --base;
      if (!Covers(*base) || !PathCovers(base->target, mount->target)) continue;
      if (IsBind(*base)) points.push_back(PointIn(*base, *mount, workspace));
      break;
    }
  }
  return points;
}

namespace {

constexpr std::string_view kHostsLine = "hosts: files dns\n";
constexpr std::string_view kWholeSwitch =
    "passwd: files\n"
    "group: files\n"
    "shadow: files\n"
    "hosts: files dns\n"
    "networks: files\n"
    "protocols: files\n"
    "services: files\n"
    "ethers: files\n"
    "rpc: files\n";

bool IsNameLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

// Returns the database that a line describes; empty if none.
std::string_view DatabaseOf(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] == '#') return {};
  const std::size_t end = line.find_first_of(": \t", begin);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin);
}

}  // namespace

std::string ResolverText() {
  return "nameserver 127.0.0.1\noptions timeout:30 attempts:2\n";
}

std::string HostsText(std::string_view machine) {
  std::string text = "127.0.0.1 localhost";
  const bool is_plain =
      !machine.empty() && std::all_of(machine.begin(), machine.end(), IsNameLetter);
  if (is_plain && machine != "localhost") {
    text += ' ';
    text += machine;
  }
  return text + "\n::1 localhost ip6-localhost ip6-loopback\n";
}

std::string SwitchText(std::string_view text) {
  if (text.empty()) return std::string(kWholeSwitch);
  std::string changed;
  changed.reserve(text.size() + kHostsLine.size());
  bool has_hosts = false;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    if (DatabaseOf(line) != "hosts") {
      changed += line;
    } else if (!has_hosts) {
      changed += kHostsLine;
      has_hosts = true;
    }
  }
  if (has_hosts) return changed;
  if (!changed.ends_with('\n')) changed += '\n';
  changed += kHostsLine;
  return changed;
}

std::vector<Mount> PlanNameFiles(const std::vector<NameFile>& files, bool for_all) {
  std::vector<Mount> mounts;
  mounts.reserve(files.size());
  for (const NameFile& file : files) {
    Mount& mount = mounts.emplace_back();
    mount.target = file.path;
    if (!file.link.empty()) {
      mount.kind = Mount::Kind::kSymlink;
      mount.source = file.link;
      continue;
    }
    mount.kind = Mount::Kind::kText;
    mount.descriptor = file.descriptor;
    mount.is_for_all = for_all;
  }
  return mounts;
}

namespace {

constexpr int kMostLinks = 40;  // the kernel's own limit (path_resolution(7))

// Returns the last mount that decides what is at `path`.
const Mount* MountAt(const std::string& path, const std::vector<Mount>& mounts) {
  const Mount* last = nullptr;
  for (const Mount& mount : mounts) {
    const bool says = mount.kind != Mount::Kind::kRemountReadOnly &&
                      mount.kind != Mount::Kind::kDirectory && mount.kind != Mount::Kind::kWord;
    if (says && PathCovers(mount.target, path)) last = &mount;
  }
  return last;
}

struct Found {
  HostEntry entry;
  std::string host;
  bool is_writable = false;
};

Found FindAt(const std::string& path, const std::vector<Mount>& mounts, const LookAtHost& look) {
  Found found;
  const Mount* const mount = MountAt(path, mounts);
  if (mount == nullptr) return found;
  if (mount->kind == Mount::Kind::kSymlink) {
    if (SamePath(mount->target, path)) found.entry = {.is_there = true, .link = mount->source};
    return found;
  }
  found.is_writable = mount->kind == Mount::Kind::kBind;
  if (!found.is_writable && mount->kind != Mount::Kind::kReadOnlyBind) return found;
  const std::size_t above = NormalPath(mount->target).size();
  const std::string rest = above == 1 ? path : path.substr(above);
  found.host = NormalPath(mount->source + "/" + rest);
  found.entry = look(found.host);
  // A bind shows what its source leads to.
  if (rest.empty()) found.entry.link.clear();
  return found;
}

}  // namespace

std::optional<InsidePath> FollowInside(std::string_view path, const std::vector<Mount>& mounts,
                                       const LookAtHost& look) {
  InsidePath inside;
  std::vector<std::string> to_go;  // in reverse order
  const auto push = [&to_go](std::string_view text) {
    std::vector<std::string> parts;
    std::string part;
    for (const char letter : std::string(text) + "/") {
      if (letter != '/') {
        part += letter;
      } else if (!part.empty()) {
        parts.push_back(std::move(part));
        part.clear();
      }
    }
    to_go.insert(to_go.end(), parts.rbegin(), parts.rend());
  };
  push(path);
  for (int links = 0; !to_go.empty();) {
    const std::string name = std::move(to_go.back());
    to_go.pop_back();
    // `inside.path` has no links left, so ".." is its lexical parent.
    inside.path = NormalPath(inside.path + "/" + name);
    Found found = FindAt(inside.path, mounts, look);
    inside.host = std::move(found.host);
    inside.is_there = found.entry.is_there;
    inside.is_writable = found.is_writable;
    if (found.entry.link.empty()) continue;
    if (++links > kMostLinks) return std::nullopt;
    const bool is_absolute = found.entry.link.front() == '/';
    inside.path = is_absolute ? "" : NormalPath(inside.path + "/..");
    push(found.entry.link);
  }
  return inside;
}

}  // namespace native_runner
