#include "policy/text/path.h"

#include <algorithm>
#include <cstddef>

#include "policy/text/text.h"

namespace native_runner {
namespace {

// Takes the next component off `path`; "" at its end. Skips empty ones and ".".
std::string_view TakeComponent(std::string_view& path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (!component.empty() && component != ".") return component;
  }
  return {};
}

}  // namespace

std::vector<std::string_view> PathComponents(std::string_view path) {
  std::vector<std::string_view> components;
  for (std::string_view part = TakeComponent(path); !part.empty(); part = TakeComponent(path)) {
    if (part != "..") {
      components.push_back(part);
    } else if (!components.empty()) {
      components.pop_back();
    }
  }
  return components;
}

std::string NormalPath(std::string_view path) {
  std::string normal;
  normal.reserve(path.size() + 1);
  for (const std::string_view component : PathComponents(path)) {
    normal += '/';
    normal += component;
  }
  return normal.empty() ? std::string(1, '/') : normal;
}

// Plans compare hundreds of paths, so the usual case makes no list of components.
bool PathCovers(std::string_view parent, std::string_view path) {
  if (HasParentComponent(parent) || HasParentComponent(path)) {
    return PathCovers(NormalPath(parent), NormalPath(path));
  }
  std::string_view above = TakeComponent(parent);
  while (!above.empty()) {
    if (TakeComponent(path) != above) return false;
    above = TakeComponent(parent);
  }
  return true;
}

std::vector<std::string> OutermostPaths(std::vector<std::string> paths) {
  std::ranges::sort(paths, {}, &std::string::size);
  std::vector<std::string> outer;
  for (std::string& path : paths) {
    const bool is_inside = std::ranges::any_of(
        outer, [&path](const std::string& above) { return PathCovers(above, path); });
    if (!is_inside) outer.push_back(std::move(path));
  }
  return outer;
}

bool SamePath(std::string_view a, std::string_view b) {
  return PathCovers(a, b) && PathCovers(b, a);
}

bool HasParentComponent(std::string_view path) {
  if (path.find("..") == std::string_view::npos) return false;
  for (std::string_view part = TakeComponent(path); !part.empty(); part = TakeComponent(path)) {
    if (part == "..") return true;
  }
  return false;
}

std::string ParentOf(std::string_view path) {
  const std::string normal = NormalPath(path);
  const std::size_t slash = normal.rfind('/');
  return slash == 0 ? "/" : normal.substr(0, slash);
}

std::string LinkTarget(std::string_view link_path, std::string_view target) {
  if (target.starts_with('/')) return NormalPath(target);
  std::string joined(link_path);
  joined += "/../";
  joined += target;
  return NormalPath(joined);
}

namespace {

constexpr std::string_view kWorkspaceName = "workspace";  // kWorkspace without its slash

Error Misplaced(std::string_view label, std::string_view field, std::string_view rule,
                std::string_view path) {
  std::string message(label);
  message.append(": ").append(field).append(rule) += QuotedShort(path);
  return {.code = ErrorCode::kInvalidValue, .message = std::move(message), .fix = ""};
}

Error OutsideError(std::string_view path, std::string_view label, std::string_view field) {
  if (label != "LocalNativeRunner") {
    return Misplaced(label, field, " must stay inside the workspace, got ", path);
  }
  std::string message = "LocalNativeRunner: cwd must be workspace-relative (no '..')";
  return {.code = ErrorCode::kInvalidValue, .message = std::move(message), .fix = ""};
}

}  // namespace

Result<std::string> WorkspaceRelative(std::string_view path, std::string_view label,
                                      std::string_view field) {
  if (path.find('\0') != std::string_view::npos) {
    return Misplaced(label, field, " must not contain NUL bytes, got ", path);
  }

  std::vector<std::string_view> inside;
  bool is_first = true;  // a leading "workspace" is the root itself, so ".." after it leaves it
  std::size_t start = 0;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    start = end + 1;
    if (component.empty() || component == ".") continue;
    const bool names_root = is_first && component == kWorkspaceName;
    is_first = false;
    if (names_root) continue;
    if (component != "..") {
      inside.push_back(component);
    } else if (!inside.empty()) {
      inside.pop_back();
    } else {
      return OutsideError(path, label, field);
    }
  }

  std::string relative;
  relative.reserve(path.size());
  for (const std::string_view component : inside) {
    if (!relative.empty()) relative += '/';
    relative += component;
  }
  return relative;
}

std::string BelowWorkspace(const std::string& path, std::string_view workspace) {
  if (workspace == kWorkspace || !path.starts_with('/')) return path;
  std::string_view rest(path);
  for (const std::string_view component : PathComponents(workspace)) {
    while (rest.starts_with('/') || rest.starts_with("./"))
      rest.remove_prefix(1);
    if (!rest.starts_with(component)) return path;
    rest.remove_prefix(component.size());
    if (!rest.empty() && !rest.starts_with('/')) return path;
  }
  return std::string(kWorkspace).append(rest);
}

std::string JoinPath(std::string_view base, std::string_view relative) {
  std::string path;
  path.reserve(base.size() + 1 + relative.size());
  path += base;
  if (relative.empty()) return path;
  if (!base.ends_with('/')) path += '/';
  path += relative;
  return path;
}

}  // namespace native_runner
