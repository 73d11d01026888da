#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// One line of a git configuration file (git-config(1), "Syntax").
struct GitSetting {
  std::string key;    // section and name in lower case: "core.hookspath"; no subsection
  std::string value;  // without quotes; empty where there is no "="
  bool operator==(const GitSetting&) const = default;
};

// All of them, in order. A line that git would refuse is left out: then git itself stops at the
// file, and obeys nothing of it. Pure.
std::vector<GitSetting> ReadGitConfig(std::string_view text);

}  // namespace native_runner
