#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// One line of a git configuration file (git-config(1), "Syntax").
struct GitSetting {
  std::string key;    // section and name in lower case: "core.hookspath"; no subsection
  std::string value;  // without quotes; empty if there is no "="
  bool operator==(const GitSetting&) const = default;
};

// Returns all settings, in order. Leaves out a line that git would refuse: git then stops at the
// file and obeys none of it. Pure.
std::vector<GitSetting> ReadGitConfig(std::string_view text);

// Returns a configuration with those settings of another one that say how a new repository keeps
// its files and who commits. None of them runs a program, or leads to a file. Pure.
std::string NewRepositoryConfig(std::string_view text);

}  // namespace native_runner
