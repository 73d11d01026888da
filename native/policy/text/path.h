#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// Lexical work on absolute paths: looks nothing up and follows no links. Repeated slashes and "."
// components do not count.

// Returns the components of a path, without "." and with ".." resolved; ".." at the root stays at
// the root. They are parts of `path`, which must live as long as they do.
std::vector<std::string_view> PathComponents(std::string_view path);
void PathComponents(std::same_as<std::string> auto&& temporary) = delete;

// Returns "/" and the components joined by "/".
std::string NormalPath(std::string_view path);

// True if `path` is `parent` or lies below it, by whole components: "/" covers everything, "/etc"
// covers "/etc/ssl" but not "/etcetera".
bool PathCovers(std::string_view parent, std::string_view path);

// Leaves out paths that are inside others of the list, and all but one of those that are the same.
std::vector<std::string> OutermostPaths(std::vector<std::string> paths);

// True if two paths have the same components.
bool SamePath(std::string_view a, std::string_view b);

// Returns the directory of a path, normalised; "/" for the root.
std::string ParentOf(std::string_view path);

// True if one of the components is "..".
bool HasParentComponent(std::string_view path);

// Returns the path that a symbolic link at `link_path` with the text `target` leads to, one step.
std::string LinkTarget(std::string_view link_path, std::string_view target);

inline constexpr const char* kWorkspace = "/workspace";

// The launcher's path in a sandbox without /proc; with /proc it is started through that.
inline constexpr char kLauncherFile[] = "/.native-runner-launcher";

// Returns a caller's `cwd`, or the path that `field` names, relative to the workspace and
// normalised: "" for its root, never with a leading slash, "." or "..". "", ".", "/" and
// "/workspace" are the root; "a/b", "/a/b", "workspace/a" and "/workspace/a" lie inside. Returns
// kInvalidValue for a path that leaves the workspace; `label` starts the message
// ("NativeRunner.exec", "LocalNativeRunner").
Result<std::string> WorkspaceRelative(std::string_view path, std::string_view label,
                                      std::string_view field = "cwd");

// Returns a path that begins with `workspace`, where commands see the workspace, as one that begins
// with /workspace; others as they are. For WorkspaceRelative, which refuses one that leaves it.
std::string BelowWorkspace(const std::string& path, std::string_view workspace);

// Returns base + "/" + relative, or base if relative is empty.
std::string JoinPath(std::string_view base, std::string_view relative);

}  // namespace native_runner
