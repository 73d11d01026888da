#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// A directory that holds a git repository (gitrepository-layout(5)).
struct GitDirectory {
  std::string path;
  bool is_linked = false;  // uses the configuration and hooks of its common directory
};

// The files that control git in a directory: those of a repository, its worktrees and submodules.
// Paths are absolute, with links resolved as far as they exist. A path may lead to a file that
// others control, so links found in files are never trusted. Plain data.
struct GitRepository {
  // Repository directories of the working tree, of all worktrees of the same repository, and of
  // submodules.
  std::vector<GitDirectory> directories;
  // Paths through which git finds them: `.git` of each working tree unless it is in `directories`;
  // HEAD of a tree that is no repository; and paths that go along symbolic links.
  std::vector<std::string> entries;
  // Paths outside of them that git runs hooks from: core.hooksPath, and the targets of links among
  // the hooks.
  std::vector<std::string> hooks;
  // Files outside of them that git reads as configuration: include.path, and the targets of links.
  std::vector<std::string> included;
};

// Returns what a list of protected names has of a repository: the names without ".git/", and "" for
// ".git". They apply to every directory of a repository.
std::vector<std::string> GitNamesOf(const std::vector<std::string>& protected_names);

// A path that git runs code from, or reads as configuration.
struct GitPath {
  enum class Kind : std::uint8_t {
    kDirectory,        // or anything else
    kFile,             // an empty one means the same as none
    kCommonDirectory,  // a file with a path; "." means the same as none
    kEntry,            // leads to a repository: a directory there has paths of its own
  };
  std::string path;
  Kind kind = Kind::kDirectory;
};

// Returns the paths of a repository that `names` (GitNamesOf) protect, existing or not. Used for
// the mounts of a sandbox and for commits alike.
std::vector<GitPath> GitPathsOf(const GitRepository& repository,
                                const std::vector<std::string>& names);

// Absolute paths that a commit must not change. Ignores case, as some file systems do.
class ProtectedPaths {
 public:
  void Add(std::string_view path);
  bool empty() const { return paths_.empty(); }

  // True for a protected path, for each below one and, unless it is a directory, for each above: a
  // link in the place of a directory leads to other files.
  bool Has(std::string_view path, bool is_directory) const;

 private:
  std::set<std::string, std::less<>> paths_;  // in lower case
};

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
