#include "policy/options/workspace_path.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "policy/text/quote.h"

namespace native_runner {
namespace {

constexpr std::string_view kWorkspaceName = "workspace";  // kWorkspace without its slash

Error OutsideError(std::string_view cwd, std::string_view label) {
  std::string message(label);
  if (label == "LocalNativeRunner") {
    message += ": cwd must be workspace-relative (no '..')";
  } else {
    message += ": cwd must stay inside the workspace, got " + QuotedShort(cwd);
  }
  return {.code = ErrorCode::kInvalidValue, .message = std::move(message), .fix = ""};
}

Error NulError(std::string_view cwd, std::string_view label) {
  std::string message(label);
  message += ": cwd must not contain NUL bytes, got " + QuotedShort(cwd);
  return {.code = ErrorCode::kInvalidValue, .message = std::move(message), .fix = ""};
}

}  // namespace

Result<std::string> WorkspaceRelative(std::string_view cwd, std::string_view label) {
  if (cwd.find('\0') != std::string_view::npos) return NulError(cwd, label);

  std::vector<std::string_view> inside;
  bool is_first = true;  // a leading "workspace" is the root itself, so ".." after it leaves
  std::size_t start = 0;
  while (start < cwd.size()) {
    const std::size_t end = std::min(cwd.find('/', start), cwd.size());
    const std::string_view component = cwd.substr(start, end - start);
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
      return OutsideError(cwd, label);
    }
  }

  std::string relative;
  relative.reserve(cwd.size());
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
