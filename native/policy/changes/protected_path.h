#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// Whether code of the host's runs by itself what is at a path: one of `names` (".envrc",
// ".git/hooks", normalised) is there, at any depth of it, or above it. Upper and lower case are the
// same: so they are in some file systems. What is no directory is protected above one of them too:
// a link in the place of ".git" leads to hooks elsewhere.
bool IsProtected(std::string_view path, bool is_directory, const std::vector<std::string>& names);

}  // namespace native_runner
