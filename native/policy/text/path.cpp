#include "policy/text/path.h"

#include <algorithm>
#include <cstddef>

namespace native_runner {
namespace {

// Takes the next component off `path`, "" at its end. Empty ones and "." are passed over.
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

// Plans compare paths by the hundred, so the usual case goes without a list of components.
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

std::string LinkTarget(std::string_view link_path, std::string_view target) {
  if (target.starts_with('/')) return NormalPath(target);
  std::string joined(link_path);
  joined += "/../";
  joined += target;
  return NormalPath(joined);
}

}  // namespace native_runner
