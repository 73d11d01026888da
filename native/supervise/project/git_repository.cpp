#include "supervise/project/git_repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "policy/git/git_config.h"
#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
#include "supervise/project/new_repository.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostIncluded = 256;
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr int kMostDepth = 10;  // of included files, and of .git/modules, whose names are paths

unsigned TypeOf(const std::string& path) {
  NotePath(path);
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
  NotePath(path);
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
  NotePath(path);
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return names;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(entries);
  return names;
}

// Resolves a path along links, also along those whose target is missing: a commit may make it.
std::string TargetOf(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  for (int left = kMostLinks; left > 0; --left) {
    if (std::string real = RealPath(path); !real.empty()) return real;
    const auto text = ReadLink(AT_FDCWD, path);
    if (!text) break;
    path = text->starts_with('/') ? *text : JoinPath(path.substr(0, path.rfind('/')), *text);
  }
  return RealPathAsFar(path);
}

// Git's own test of a repository (is_git_directory in its setup.c), which accepts more: neither
// HEAD nor the path in `commondir` is read.
bool IsGitDirectory(const std::string& path) {
  if (TypeOf(path + "/HEAD") == 0) return false;
  return TypeOf(path + "/commondir") != 0 ||
         (!RealPath(path + "/objects").empty() && !RealPath(path + "/refs").empty());
}

class Finder {
 public:
  explicit Finder(const GitSearch& search) : search_(search) {}

  // A repository that is used below its directory has it among the parents.
  void AddAbove(std::string path) {
    while (path.size() > 1) {
      path.resize(std::max<std::size_t>(path.rfind('/'), 1));
      if (TypeOf(JoinPath(path, ".git")) != 0 || IsGitDirectory(path)) AddWorkingTree(path);
    }
  }

  void AddDirectory(const GitSearch::Directory& directory) {
    trees_.insert(directory.working_tree);
    Add(directory.path);
  }

  // The files that git reads in every repository (git-config(1), FILES).
  void AddUserConfig() {
    if (search_.homes.empty()) return;
    AddIncluded("/etc", "gitconfig", 0);
    for (const std::string& home : search_.homes) {
      AddIncluded(home, ".gitconfig", 0);
      AddIncluded(home, ".config/git/config", 0);
    }
  }

  void AddWorkingTree(const std::string& tree) {
    if (!trees_.insert(tree).second) return;
    const std::string entry = JoinPath(tree, ".git");
    unsigned type = TypeOf(entry);
    if (type == S_IFDIR && !IsNewRepository(entry)) return Add(entry);
    found_.entries.push_back(entry);
    if (type == S_IFLNK) {
      const std::string real = RealPath(entry);
      if (IsDirectory(real)) return Add(real);
      type = TypeOf(real);
    }
    const bool is_bare = IsGitDirectory(tree);
    if (is_bare) Add(tree);
    // Otherwise a HEAD must not appear: it would make the tree itself a repository.
    if ((type == 0 || type == S_IFDIR) && !is_bare)
      found_.entries.push_back(JoinPath(tree, "HEAD"));
    constexpr std::string_view kLink = "gitdir: ";
    const std::string text = type == S_IFREG ? Read(entry).value_or("") : "";
    if (text.starts_with(kLink)) Add(Lead(tree, std::string_view(text).substr(kLink.size())));
  }

  Result<GitRepository> Done() {
    if (found_.directories.size() >= search_.most_directories) {
      return Error{ErrorCode::kSetup,
                   found_.directories.front().path + " can't be protected: it has " +
                       std::to_string(search_.most_directories) +
                       " submodules and worktrees or more",
                   "share less of it, or put .git on readOnly as a whole"};
    }
    for (const std::string& path : relative_hooks_) {
      for (const std::string& tree : trees_)
        AddHooks(Lead(tree, path));
    }
    return std::move(found_);
  }

 private:
  static bool IsNew(std::vector<std::string>* seen, const std::string& path) {
    if (std::find(seen->begin(), seen->end(), path) != seen->end()) return false;
    seen->push_back(path);
    return true;
  }

  std::optional<std::string> Read(const std::string& path) const {
    std::string text;
    if (search_.read_changed && search_.read_changed(path, &text)) return text;
    return ReadFile(path);
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
    if (found_.directories.size() >= search_.most_directories || !seen_.insert(directory).second) {
      return;
    }
    const auto link = Read(directory + "/commondir");
    const std::string common = link ? Lead(directory, *link) : directory;
    found_.directories.push_back({directory, common != directory});
    for (const char* name : {"/config", "/config.worktree", "/commondir"})
      if (TypeOf(directory + name) == S_IFLNK) {
        IsNew(&found_.included, RealPathAsFar(directory + name));
      }
    const std::string hooks = directory + "/hooks";
    if (TypeOf(hooks) == S_IFLNK) {
      AddHooks(RealPathAsFar(hooks));
    } else {
      AddLinkedHooks(hooks);
    }
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
    const auto link = Read(directory + "/gitdir");  // path of the worktree's .git
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

  // Adds a directory of hooks.
  void AddHooks(const std::string& path) {
    IsNew(&found_.hooks, path);
    AddLinkedHooks(path);
  }

  void AddLinkedHooks(const std::string& directory) {
    for (const std::string& name : NamesIn(directory)) {
      const std::string hook = JoinPath(directory, name);
      if (TypeOf(hook) == S_IFLNK) IsNew(&found_.hooks, TargetOf(hook));
    }
  }

  void ReadConfig(const std::string& directory, std::string_view name, int depth) {
    const auto text = Read(JoinPath(directory, name));
    if (!text || depth == kMostDepth) return;
    for (const GitSetting& setting : ReadGitConfig(*text)) {
      if (setting.value.empty()) continue;
      if (!setting.value.starts_with('~')) {
        Use(setting.key, setting.value, directory, depth);
      } else if (setting.value.starts_with("~/")) {
        for (const std::string& home : search_.homes)
          Use(setting.key, JoinPath(home, setting.value.substr(2)), directory, depth);
      }
    }
  }

  void Use(const std::string& key, const std::string& path, const std::string& directory,
           int depth) {
    if (key == "core.worktree") {
      const std::string tree = Lead(directory, path);
      if (IsDirectory(tree)) AddWorkingTree(tree);
    } else if (key == "core.hookspath") {
      if (path.starts_with('/')) {
        AddHooks(Lead(directory, path));
      } else {
        IsNew(&relative_hooks_, path);
      }
    } else if (key == "include.path" || key == "includeif.path") {
      AddIncluded(directory, path, depth);
    }
  }

  // Git resolves the paths in an included file against the path by which it is included.
  void AddIncluded(const std::string& directory, const std::string& path, int depth) {
    if (found_.included.size() >= kMostIncluded) return;
    if (!IsNew(&found_.included, Lead(directory, path))) return;
    const std::string whole = path.starts_with('/') ? path : JoinPath(directory, path);
    const std::size_t slash = whole.rfind('/');
    ReadConfig(whole.substr(0, slash), whole.substr(slash + 1), depth + 1);
  }

  const GitSearch& search_;
  GitRepository found_;
  std::set<std::string> seen_;
  std::set<std::string> trees_;
  std::vector<std::string> relative_hooks_;
};

}  // namespace

Result<GitRepository> FindGitRepository(const GitSearch& search) {
  Finder finder(search);
  for (const std::string& tree : search.working_trees) {
    finder.AddWorkingTree(tree);
    if (search.looks_above) finder.AddAbove(tree);
  }
  for (const GitSearch::Directory& directory : search.directories)
    finder.AddDirectory(directory);
  finder.AddUserConfig();
  return finder.Done();
}

}  // namespace native_runner
