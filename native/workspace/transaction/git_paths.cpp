#include "workspace/transaction/git_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/project/git_repository.h"
#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostRepositories = 10'000;
constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20U;
constexpr std::string_view kGitDirectory = ".git";

// The entries that make a repository of a directory, see IsRepository.
constexpr std::array<std::string_view, 4> kMakers = {"HEAD", "objects", "refs", "commondir"};

// A list of commands that `git rebase --continue` runs. It is no path that a sandbox can protect:
// git would take an empty directory in its place for a rebase.
constexpr const char* kRebase = "rebase-merge";

std::string Below(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

// Git's own test of a repository (is_git_directory in its setup.c), which accepts more: neither
// HEAD nor the path in `commondir` is read. `has` tells if an entry of the directory exists.
template <typename Has>
bool IsRepository(const Has& has) {
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

// The host's files as a commit of the chosen changes is going to leave them. Paths are relative to
// the workspace. One thread.
class AfterCommit {
 public:
  AfterCommit(const ScannedTree& upper, const ScannedTree& lower, const std::vector<Change>& chosen)
      : upper_(upper), lower_(lower), chosen_(chosen) {
    for (const Change& change : chosen)
      if (change.mode != 0) made_.insert(AsciiLowered(change.path));
  }

  // The host has it now. What can't be looked at counts as there.
  bool HadEntry(const std::string& directory, std::string_view name) {
    if (!opened_ || opened_path_ != directory) {
      auto opened = lower_.OpenIfThere(directory);
      if (!opened) return true;
      opened_ = std::move(*opened);
      opened_path_ = directory;
    }
    if (!opened_) return false;
    const auto node = opened_->Look(std::string(name));
    return !node || node.value().has_value();
  }

  bool HasEntry(const std::string& directory, std::string_view name) {
    const std::string path = Below(directory, name);
    if (made_.count(AsciiLowered(path)) != 0) return true;
    return Find(path) == nullptr && HadEntry(directory, name);
  }

  // True for a path that is changed, with the text of the file that is going to be there.
  bool ReadChanged(const std::string& path, std::string* text) const {
    const Change* change = Find(path);
    if (change == nullptr) return false;
    if (!S_ISREG(change->mode)) return true;
    const auto [parent, name] = SplitPath(path);
    const auto directory = upper_.OpenIfThere(parent);
    if (!directory || !directory.value()) return true;
    const auto file = directory.value()->OpenFile(std::string(name));
    if (!file) return true;
    text->resize(kMostConfigBytes);
    std::size_t size = 0;
    while (size < text->size()) {
      const ssize_t got = read(file.value().get(), text->data() + size, text->size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    text->resize(size);
    return true;
  }

 private:
  const Change* Find(std::string_view path) const {
    const auto found = std::lower_bound(
        chosen_.begin(), chosen_.end(), path,
        [](const Change& change, std::string_view wanted) { return change.path < wanted; });
    return found != chosen_.end() && found->path == path ? &*found : nullptr;
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  const std::vector<Change>& chosen_;
  std::set<std::string> made_;  // in lower case
  std::string opened_path_;
  std::optional<ScannedDirectory> opened_;
};

// Finds the directories of a tree that have a `.git`, or are a repository themselves: relative to
// it, "" for the top. What can't be read is left out.
std::vector<std::string> FindWorkingTrees(const ScannedTree& tree) {
  std::vector<std::string> found;
  std::vector<std::string> waiting = {""};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = tree.OpenIfThere(path);
    if (!directory || !directory.value()) continue;
    std::vector<NamedType> entries;
    constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
    if (!ReadNames(directory.value()->descriptor(), kUnlimited, entries)) continue;
    const auto has = [&entries](std::string_view name) {
      return std::any_of(entries.begin(), entries.end(), [name](const NamedType& entry) {
        return EqualIgnoringCase(entry.name, name);
      });
    };
    const bool is_repository = IsRepository(has);
    if (is_repository || has(kGitDirectory)) found.push_back(path);
    for (const auto& [name, type] : entries) {
      const bool is_known = name == kGitDirectory ||  // read by FindGitRepository
                            (is_repository && (name == "objects" || name == "refs"));
      // OpenIfThere passes over what turns out to be no directory.
      if (!is_known && (type == DT_DIR || type == DT_UNKNOWN)) waiting.push_back(Below(path, name));
    }
  }
  return found;
}

class GitPathsFinder {
 public:
  GitPathsFinder(const GitPathsRequest& request, const std::vector<Change>& chosen)
      : request_(request),
        names_(request.names),
        after_(*request.upper, *request.lower, chosen),
        chosen_(chosen) {
    names_.emplace_back(kRebase);
  }

  Result<ProtectedPaths> Run() {
    for (const Change& change : chosen_)
      LookAtParents(change.path);
    GitSearch search;
    search.looks_above = true;
    search.homes = request_.homes;
    search.most_directories = kMostRepositories;
    search.directories = std::move(directories_);
    search.working_trees.push_back(request_.workspace);
    for (const std::string& tree : FindWorkingTrees(*request_.lower))
      search.working_trees.push_back(JoinPath(request_.workspace, tree));
    const std::string& top = request_.workspace;
    const std::string above = top.ends_with('/') ? top : top + "/";
    search.read_changed = [this, above](const std::string& path, std::string* text) {
      return path.starts_with(above) && after_.ReadChanged(path.substr(above.size()), text);
    };
    auto repository = FindGitRepository(search);
    if (!repository) return repository.error();
    // A `.git` that is missing is no path to protect: what matters of it is, once it is made.
    std::erase_if(repository->entries, [](const std::string& entry) {
      struct statx status {};  // lstat(2) needs a newer C library than the package promises
      return statx(AT_FDCWD, entry.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0 ||
             SplitPath(std::string_view(entry)).name == "HEAD";
    });
    for (const GitPath& path : GitPathsOf(*repository, names_))
      paths_.Add(path.path);
    return std::move(paths_);
  }

 private:
  // Looks at each directory above a path in which the path could matter to git.
  void LookAtParents(std::string_view path) {
    std::size_t begin = 0;
    for (;;) {
      const std::size_t end = path.find('/', begin);
      const std::string_view name = path.substr(begin, end - begin);
      if (Matters(name)) LookAt(std::string(path.substr(0, begin == 0 ? 0 : begin - 1)));
      if (end == std::string_view::npos) return;
      begin = end + 1;
    }
  }

  bool Matters(std::string_view name) const {
    const auto is_same = [name](std::string_view other) {
      return other.empty() || EqualIgnoringCase(name, other.substr(0, other.find('/')));
    };
    return std::any_of(kMakers.begin(), kMakers.end(), is_same) ||
           std::any_of(names_.begin(), names_.end(), is_same);
  }

  void LookAt(const std::string& directory) {
    if (!seen_.insert(directory).second) return;
    const bool was_repository =
        IsRepository([&](std::string_view name) { return after_.HadEntry(directory, name); });
    const bool is_repository =
        IsRepository([&](std::string_view name) { return after_.HasEntry(directory, name); });
    if (!was_repository && !is_repository) return;
    const std::string path = JoinPath(request_.workspace, directory);
    const auto [parent, name] = SplitPath(std::string_view(path));
    directories_.push_back({path, name == kGitDirectory ? std::string(parent) : path});
    if (was_repository) return;
    for (const std::string_view maker : kMakers)
      paths_.Add(JoinPath(path, maker));
  }

  const GitPathsRequest& request_;
  std::vector<std::string> names_;
  AfterCommit after_;
  const std::vector<Change>& chosen_;
  std::set<std::string> seen_;
  std::vector<GitSearch::Directory> directories_;
  ProtectedPaths paths_;
};

}  // namespace

Result<ProtectedPaths> FindGitPaths(const GitPathsRequest& request,
                                    const std::vector<Change>& chosen) {
  if (request.names.empty() || chosen.empty()) return ProtectedPaths();
  return GitPathsFinder(request, chosen).Run();
}

}  // namespace native_runner
