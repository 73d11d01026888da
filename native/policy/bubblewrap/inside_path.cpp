#include "policy/bubblewrap/inside_path.h"

#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own bound (path_resolution(7))

// The last of the mounts that says what is at `path`.
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
  std::vector<std::string> to_go;  // the last first
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
    // Where we are is behind all links, so ".." is what is lexically above.
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
