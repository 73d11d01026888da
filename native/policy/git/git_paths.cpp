#include "policy/git/git_paths.h"

#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::string_view kGitDirectory = ".git";

GitPath::Kind KindInGit(std::string_view name) {
  if (name == "commondir") return GitPath::Kind::kCommonDirectory;
  const bool is_file = name == "config" || name == "config.worktree";
  return is_file ? GitPath::Kind::kFile : GitPath::Kind::kDirectory;
}

}  // namespace

std::vector<std::string> GitNamesOf(const std::vector<std::string>& protected_names) {
  std::vector<std::string> names;
  for (const std::string& name : protected_names) {
    if (name == kGitDirectory) {
      names.emplace_back();
    } else if (name.starts_with(".git/")) {
      names.push_back(name.substr(kGitDirectory.size() + 1));
    }
  }
  return names;
}

std::vector<GitPath> GitPathsOf(const GitRepository& repository,
                                const std::vector<std::string>& names) {
  std::vector<GitPath> paths;
  if (names.empty()) return paths;
  bool has_config = false;
  for (const std::string& name : names) {
    has_config = has_config || name == "config" || name.empty();
    for (const GitDirectory& directory : repository.directories) {
      if (directory.is_linked && (name == "config" || name == "hooks")) continue;
      paths.push_back({JoinPath(directory.path, name), KindInGit(name)});
    }
  }
  for (const std::string& entry : repository.entries)
    paths.push_back({entry, GitPath::Kind::kEntry});
  if (!has_config) return paths;
  for (const std::string& hooks : repository.hooks)
    paths.push_back({hooks, GitPath::Kind::kDirectory});
  for (const std::string& included : repository.included)
    paths.push_back({included, GitPath::Kind::kFile});
  return paths;
}

void ProtectedPaths::Add(std::string_view path) {
  paths_.insert(AsciiLowered(NormalPath(path)));
}

bool ProtectedPaths::Has(std::string_view path, bool is_directory) const {
  if (paths_.empty()) return false;
  const std::string lower = AsciiLowered(path);
  for (std::string_view above = lower;; above = above.substr(0, above.rfind('/'))) {
    if (above.empty()) above = "/";
    if (paths_.find(above) != paths_.end()) return true;
    if (above == "/") break;
  }
  if (is_directory) return false;
  const std::string before = lower + "/";
  const auto next = paths_.lower_bound(before);
  return next != paths_.end() && next->starts_with(before);
}

}  // namespace native_runner
