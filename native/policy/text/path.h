#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// Lexical work on absolute paths; nothing is looked up, links are not followed. Repeated slashes
// and "." components do not count.

// The components of a path, "." left out and ".." resolved; ".." at the root stays at the root.
std::vector<std::string_view> PathComponents(std::string_view path);

// "/" + components joined by "/".
std::string NormalPath(std::string_view path);

// Whether `path` is `parent` or lies below it, by whole components: "/" covers everything, "/etc"
// covers "/etc/ssl" but not "/etcetera".
bool PathCovers(std::string_view parent, std::string_view path);

// Whether two paths are the same by their components.
bool SamePath(std::string_view a, std::string_view b);

// Whether one of the components is "..".
bool HasParentComponent(std::string_view path);

// Where a symbolic link at `link_path` with the text `target` leads to, one step.
std::string LinkTarget(std::string_view link_path, std::string_view target);

inline constexpr const char* kWorkspace = "/workspace";

// Where the launcher lies in a sandbox without /proc, through which it is started in others.
inline constexpr char kLauncherFile[] = "/.native-runner-launcher";

// A caller's `cwd`, or what else `field` names, as a path relative to the workspace, normalised: ""
// for its root, never with a leading slash, "." or "..". "", ".", "/" and "/workspace" are the
// root; "a/b", "/a/b", "workspace/a" and "/workspace/a" lie inside. One that leaves is
// kInvalidValue; `label` starts the message ("NativeRunner.exec", "LocalNativeRunner").
Result<std::string> WorkspaceRelative(std::string_view path, std::string_view label,
                                      std::string_view field = "cwd");

// base + "/" + relative, or base when relative is empty.
std::string JoinPath(std::string_view base, std::string_view relative);

}  // namespace native_runner
