#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace native_runner
