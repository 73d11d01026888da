#pragma once

#include <string>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

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
