#include "policy/options/workspace_path.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "policy/text/quote.h"

namespace native_runner {
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
  bool is_first = true;  // a leading "workspace" is the root itself, so ".." after it leaves
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
