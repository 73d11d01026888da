#include "supervise/project/git_repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "policy/git/git_config.h"
#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostDirectories = 256;  // each costs several mounts
constexpr std::size_t kMostIncluded = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr int kMostDepth = 8;  // nested directories in .git/modules, whose names are paths

unsigned TypeOf(const std::string& path) {
  struct statx status {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW;
  if (statx(AT_FDCWD, path.c_str(), kFlags, STATX_TYPE, &status) != 0) return 0;
  return status.stx_mode & S_IFMT;
}

bool IsDirectory(const std::string& path) {
  return TypeOf(path) == S_IFDIR;
}

// Reads a regular file only, without blocking: opening a FIFO could block.
std::optional<std::string> ReadFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct statx status {};
  if (!file.valid() || statx(file.get(), "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0 ||
      !S_ISREG(status.stx_mode)) {
    return std::nullopt;
  }
  std::string text(kMostBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return names;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(entries);
  return names;
}

// Git's own test of a repository (is_git_directory in its setup.c).
bool IsGitDirectory(const std::string& path) {
  return TypeOf(path + "/HEAD") != 0 && IsDirectory(RealPath(path + "/objects")) &&
         IsDirectory(RealPath(path + "/refs"));
}

class Finder {
 public:
  void AddWorkingTree(const std::string& tree) {
    if (!IsNew(&trees_, tree)) return;
    const std::string entry = JoinPath(tree, ".git");
    const unsigned type = TypeOf(entry);
    if (type == S_IFDIR) return Add(entry);
    found_.entries.push_back(entry);
    const bool is_bare = IsGitDirectory(tree);
    if (is_bare) Add(tree);
    // Otherwise a HEAD must not appear: it would make the tree itself a repository.
    if (type == 0 && !is_bare) found_.entries.push_back(JoinPath(tree, "HEAD"));
    constexpr std::string_view kLink = "gitdir: ";
    const std::string text = type == S_IFREG ? ReadFile(entry).value_or("") : "";
    if (text.starts_with(kLink)) Add(Lead(tree, std::string_view(text).substr(kLink.size())));
  }

  Result<GitRepository> Done() {
    if (found_.directories.size() >= kMostDirectories) {
      return Error{ErrorCode::kSetup,
                   found_.directories.front().path + " can't be protected: it has " +
                       std::to_string(kMostDirectories) + " submodules and worktrees or more",
                   "share less of it, or put .git on readOnly as a whole"};
    }
    for (const std::string& path : relative_hooks_) {
      for (const std::string& tree : trees_)
        found_.hooks.push_back(Lead(tree, path));
    }
    return std::move(found_);
  }

 private:
  static bool IsNew(std::vector<std::string>* seen, const std::string& path) {
    if (std::find(seen->begin(), seen->end(), path) != seen->end()) return false;
    seen->push_back(path);
    return true;
  }

  // Resolves a path found in a file of `directory`.
  std::string Lead(const std::string& directory, std::string_view path) {
    while (!path.empty() && (path.back() == '\n' || path.back() == '\r'))
      path.remove_suffix(1);
    const std::string whole = path.starts_with('/') ? std::string(path) : JoinPath(directory, path);
    std::string real = RealPathAsFar(whole);
    // A path along a link could be made to lead elsewhere.
    if (std::string named = NormalPath(whole); named != real) IsNew(&found_.entries, named);
    return real;
  }

  void Add(const std::string& directory) {
    if (found_.directories.size() >= kMostDirectories || !IsNew(&seen_, directory)) return;
    const auto link = ReadFile(directory + "/commondir");
    const std::string common = link ? Lead(directory, *link) : directory;
    found_.directories.push_back({directory, common != directory});
    ReadConfig(directory, "config", 0);
    ReadConfig(directory, "config.worktree", 0);
    AddModules(directory + "/modules", 0);
    if (common != directory) return Add(common);
    const std::string worktrees = directory + "/worktrees";
    for (const std::string& name : NamesIn(worktrees))
      AddWorktree(JoinPath(worktrees, name));
  }

  void AddWorktree(const std::string& directory) {
    if (!IsDirectory(directory)) return;
    Add(directory);
    const auto link = ReadFile(directory + "/gitdir");  // path of the worktree's .git
    if (!link) return;
    const std::string entry = Lead(directory, *link);
    const std::string tree = entry.substr(0, entry.rfind('/'));
    if (entry.ends_with("/.git") && IsDirectory(tree)) AddWorkingTree(tree);
  }

  // Adds the repositories of submodules; a name such as a/b is two directories.
  void AddModules(const std::string& path, int depth) {
    if (depth == kMostDepth || !IsDirectory(path)) return;
    for (const std::string& name : NamesIn(path)) {
      const std::string directory = JoinPath(path, name);
      if (!IsDirectory(directory)) continue;
      if (IsGitDirectory(directory)) {
        Add(directory);
      } else {
        AddModules(directory, depth + 1);
      }
    }
  }

  void ReadConfig(const std::string& directory, std::string_view name, int depth) {
    const auto text = ReadFile(JoinPath(directory, name));
    if (!text || depth == kMostDepth) return;
    for (const GitSetting& setting : ReadGitConfig(*text)) {
      const std::string& value = setting.value;
      if (value.empty() || value.starts_with('~')) continue;  // below the home directory
      if (setting.key == "core.worktree") {
        const std::string tree = Lead(directory, value);
        if (IsDirectory(tree)) AddWorkingTree(tree);
      } else if (setting.key == "core.hookspath") {
        if (value.starts_with('/')) {
          found_.hooks.push_back(Lead(directory, value));
        } else {
          IsNew(&relative_hooks_, value);
        }
      } else if (setting.key == "include.path" || setting.key == "includeif.path") {
        AddIncluded(Lead(directory, value), depth);
      }
    }
  }

  void AddIncluded(const std::string& path, int depth) {
    if (found_.included.size() >= kMostIncluded || !IsNew(&found_.included, path)) return;
    const std::size_t slash = path.rfind('/');
    ReadConfig(path.substr(0, slash), path.substr(slash + 1), depth + 1);
  }

  GitRepository found_;
  std::vector<std::string> seen_;
  std::vector<std::string> trees_;
  std::vector<std::string> relative_hooks_;
};

}  // namespace

Result<GitRepository> FindGitRepository(const std::string& working_tree) {
  Finder finder;
  finder.AddWorkingTree(working_tree);
  return finder.Done();
}

}  // namespace native_runner
