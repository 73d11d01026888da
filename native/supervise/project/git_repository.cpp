#include "supervise/project/git_repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/project.h"
#include "policy/git/git_paths.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

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

namespace {

constexpr std::string_view kBegin = "# native-runner, while a command runs:\n";
// After a last line without an end, which has none again when the block is gone.
constexpr std::string_view kBeginAfter = "\n# native-runner, while a command runs, after a line:\n";
constexpr std::string_view kEnd = "# native-runner: end\n";
constexpr std::size_t kMostExcludeBytes = std::size_t{1} << 20U;
constexpr int kExcludeTries = 1000;  // each is lost to a run that is taking its block out
constexpr const char* kExclude = "exclude";
constexpr const char* kReplacement = "exclude.native-runner";

// Returns nullopt for a longer file.
std::optional<std::string> ReadExclude(int file) {
  std::string text(kMostExcludeBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        pread(file, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0) return std::nullopt;
    if (got == 0) {
      text.resize(size);
      return text;
    }
    size += static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

std::string PatternOf(std::string_view name) {
  std::string pattern = "/";
  for (const char each : name) {
    if (std::string_view("*?[\\ ").find(each) != std::string_view::npos) pattern += '\\';
    pattern += each;
  }
  return pattern + "\n";
}

std::string BlockOf(const std::vector<std::string>& names) {
  std::string block;
  for (const std::string& name : names) {
    if (name.find('\n') == std::string::npos) block += PatternOf(name);
  }
  block += kEnd;
  return block;
}

std::size_t FirstBlock(const std::string& text) {
  return std::min(text.find(kBegin), text.find(kBeginAfter));
}

// Takes all blocks out of a text, but none of which the user has removed the end.
void TakeBlocksOut(std::string* text) {
  for (std::size_t begin = FirstBlock(*text); begin != std::string::npos;
       begin = FirstBlock(*text)) {
    const std::size_t end = text->find(kEnd, begin);
    if (end == std::string::npos) return;
    text->erase(begin, end + kEnd.size() - begin);
  }
}

// Not flock(2): a placeholder of the same file has its lock.
bool Lock(int file, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

bool IsRegular(int file) {
  struct statx status {};
  return statx(file, "", AT_EMPTY_PATH, STATX_TYPE, &status) == 0 && S_ISREG(status.stx_mode);
}

// Opens and locks the file. Another run may replace it before it is locked.
Descriptor OpenLocked(int parent) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  for (int i = 0; i < kExcludeTries; ++i) {
    Descriptor file(openat(parent, kExclude, kFlags));
    if (!file.valid() || !IsRegular(file.get())) break;
    if (Lock(file.get(), F_RDLCK)) {
      if (IsNamed(parent, kExclude, file.get())) return file;
    } else if (errno != EAGAIN) {
      break;
    }
    sched_yield();
  }
  return {};
}

bool Write(int file, std::string_view text) {
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Appends all of a text or nothing.
bool Append(int file, std::size_t size, const std::string& text) {
  if (Write(file, text)) return true;
  static_cast<void>(ftruncate(file, static_cast<off_t>(size)));
  return false;
}

// Makes the replacement, with the owner and the mode of `file`.
bool MakeReplacement(int parent, int file, std::string_view text) {
  struct statx status {};
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor made(openat(parent, kReplacement, kFlags, 0600));
  return made.valid() && statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0 &&
         fchown(made.get(), status.stx_uid, status.stx_gid) == 0 &&
         fchmod(made.get(), status.stx_mode & 07777) == 0 && Write(made.get(), text) &&
         fsync(made.get()) == 0;
}

// Gives the file, which is locked by nobody else, a new text that is not only a shorter one. A
// process that is killed meanwhile leaves the old text or the new one.
void Replace(int parent, int file, std::string_view text) {
  unlinkat(parent, kReplacement, 0);  // of a process that was killed
  if (MakeReplacement(parent, file, text) && IsNamed(parent, kExclude, file) &&
      renameat(parent, kReplacement, parent, kExclude) == 0) {
    return;
  }
  unlinkat(parent, kReplacement, 0);
}

}  // namespace

std::optional<GitExclude> GitExclude::Add(int parent, const std::vector<std::string>& names) {
  auto directory = DuplicateOf(parent);
  Descriptor file = OpenLocked(parent);
  if (!directory || !file.valid()) return std::nullopt;
  const auto text = ReadExclude(file.get());
  if (!text) return std::nullopt;
  const std::string block = BlockOf(names);
  if (text->find(block) == std::string::npos) {
    const bool is_after = !text->empty() && text->back() != '\n';
    const std::string added = std::string(is_after ? kBeginAfter : kBegin) + block;
    if (!Append(file.get(), text->size(), added)) return std::nullopt;
  }
  return GitExclude(std::move(*directory), std::move(file));
}

GitExclude::~GitExclude() {
  if (!file_.valid()) return;
  // An editor that was open meanwhile may have saved the block as part of a new file.
  if (!IsNamed(parent_.get(), kExclude, file_.get())) file_ = OpenLocked(parent_.get());
  if (!file_.valid() || !Lock(file_.get(), F_WRLCK)) return;
  const auto text = ReadExclude(file_.get());
  if (!text) return;
  const std::size_t first = FirstBlock(*text);
  if (first == std::string::npos) return;
  std::string rest = *text;
  TakeBlocksOut(&rest);
  if (rest.size() == first) {
    static_cast<void>(ftruncate(file_.get(), static_cast<off_t>(first)));
  } else if (rest != *text) {
    Replace(parent_.get(), file_.get(), rest);
  }
}

namespace {

constexpr const char* kGit = ".git";
constexpr const char* kHead = "HEAD";
constexpr const char* kConfig = "config";
constexpr const char* kMadeConfig = "native-runner-config";
constexpr const char* kLeftOut = "native-runner-left-out";
// A repository has about fifteen. One with more is left out as a whole: each costs other runs time.
constexpr std::size_t kMostEntries = 256;
constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20U;
constexpr Placeholder::Form kNewForm = {.is_file = false, .text = "", .may_be_filled = true};

bool IsThere(int directory, const char* name) {
  struct stat status {};
  return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// Gives the owner all rights over a directory that a command has made, and opens it.
Descriptor OpenMade(int directory, const char* name) {
  const Descriptor found(openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || fstat(found.get(), &status) != 0) return {};
  if ((status.st_mode & S_IRWXU) != S_IRWXU) {
    static_cast<void>(SetModeOf(found.get(), (status.st_mode & 0777U) | S_IRWXU));
  }
  return Descriptor(openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Returns at most kMostEntries + 1 names, in order.
std::vector<std::string> EntriesOf(int directory) {
  std::vector<std::string> names;
  DIR* entries = fdopendir(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (entries == nullptr) return names;
  rewinddir(entries);
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.emplace_back(name);
    if (names.size() > kMostEntries) break;
  }
  closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

// Moves an entry, and replaces nothing. EEXIST in errno: there is one.
bool MoveEntry(int from, const char* name, int to, const char* new_name) {
  const auto move = [&] {
    if (syscall(SYS_renameat2, from, name, to, new_name, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;  // of a file system without this flag
    if (IsThere(to, new_name)) {
      errno = EEXIST;
      return false;
    }
    return renameat(from, name, to, new_name) == 0;
  };
  if (move()) return true;
  if (errno != EACCES) return false;
  // A directory that its owner can't write to can't be moved.
  const Descriptor closed(openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!closed.valid() || fstat(closed.get(), &status) != 0) return false;
  if (!SetModeOf(closed.get(), (status.st_mode & 07777U) | S_IRWXU)) return false;
  const bool is_moved = move();
  static_cast<void>(SetModeOf(closed.get(), status.st_mode & 07777U));
  return is_moved;
}

// Keeps an entry where git does not look.
bool LeaveOut(int git, int from, const std::string& name) {
  if (mkdirat(git, kLeftOut, 0755) != 0 && errno != EEXIST) return false;
  const Descriptor left = OpenMade(git, kLeftOut);
  if (!left.valid()) return false;
  constexpr int kMostSame = 100;
  std::string as = name;
  for (int i = 1; i < kMostSame; ++i) {
    if (MoveEntry(from, name.c_str(), left.get(), as.c_str())) return true;
    if (errno != EEXIST) return false;
    as = name + "." + std::to_string(i);
  }
  return false;
}

std::optional<std::string> ReadConfigFile(int directory) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(openat(directory, kConfig, kFlags));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  std::string text(kMostConfigBytes, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  if (size < 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Makes the configuration of harmless settings, unless one is there; the one with others is kept.
bool TakeConfig(int git, int made) {
  const auto text = ReadConfigFile(made);
  const std::string harmless = NewRepositoryConfig(text.value_or(""));
  if (!IsThere(git, kConfig)) {
    unlinkat(git, kMadeConfig, 0);  // of a process that was killed
    const Descriptor file(
        openat(git, kMadeConfig, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    const auto size = static_cast<ssize_t>(harmless.size());
    if (!file.valid() || write(file.get(), harmless.data(), harmless.size()) != size) return false;
    if (!MoveEntry(git, kMadeConfig, git, kConfig)) return false;
  }
  const bool is_whole = text && ReadGitConfig(*text) == ReadGitConfig(harmless);
  if (is_whole) return unlinkat(made, kConfig, 0) == 0;
  return LeaveOut(git, made, kConfig);
}

// True for a directory with nothing but samples, which git does not run.
bool HasSamplesOnly(int made, const char* name) {
  const Descriptor hooks = OpenMade(made, name);
  if (!hooks.valid()) return false;
  const auto names = EntriesOf(hooks.get());
  return names.size() <= kMostEntries && std::all_of(names.begin(), names.end(), [](const auto& n) {
           return n.ends_with(".sample");
         });
}

// True for an entry that is protected in each repository, or has repositories below it, which have
// such entries. Ignores case, as some file systems do.
bool IsObeyed(const std::string& name, const std::vector<std::string>& protected_names) {
  const std::string lower = AsciiLowered(name);
  if (lower == "modules" || lower == "worktrees") return true;
  return std::any_of(protected_names.begin(), protected_names.end(), [&lower](const auto& each) {
    return AsciiLowered(each.substr(0, each.find('/'))) == lower;
  });
}

bool TakeEntry(int git, int made, const std::string& name,
               const std::vector<std::string>& protected_names) {
  if (IsObeyed(name, protected_names)) {
    if (name == kConfig) return TakeConfig(git, made);
    if (name != "hooks" || !HasSamplesOnly(made, name.c_str())) return LeaveOut(git, made, name);
  }
  if (MoveEntry(made, name.c_str(), git, name.c_str())) return true;
  return errno == EEXIST && LeaveOut(git, made, name);
}

// Removes a directory in which no command has made anything.
bool RemoveUntouched(int git, int made) {
  const auto is_only = [](const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || (names.size() == 1 && names.front() == name);
  };
  if (!is_only(EntriesOf(made), "info")) return false;
  if (const Descriptor info(openat(made, "info", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      info.valid()) {
    struct stat status {};
    if (!is_only(EntriesOf(info.get()), "exclude")) return false;
    if (fstatat(info.get(), "exclude", &status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (!S_ISREG(status.st_mode) || status.st_size != 0) return false;
      if (unlinkat(info.get(), "exclude", 0) != 0) return false;
    }
    if (unlinkat(made, "info", AT_REMOVEDIR) != 0) return false;
  }
  return unlinkat(git, kNewRepository, AT_REMOVEDIR) == 0;
}

// Moves what commands have made in `git`, an open `.git`, to where git looks. Returns false, and
// leaves the rest to the next run, if something can't be moved.
bool TakeNewRepository(int git, const std::vector<std::string>& protected_names) {
  const Descriptor made = OpenMade(git, kNewRepository);
  if (!made.valid()) return !IsThere(git, kNewRepository);
  if (RemoveUntouched(git, made.get())) return true;
  auto names = EntriesOf(made.get());
  if (names.size() > kMostEntries) return LeaveOut(git, git, kNewRepository);
  // With HEAD it is a repository.
  std::stable_partition(names.begin(), names.end(), [](const auto& name) { return name != kHead; });
  for (const std::string& name : names) {
    if (!TakeEntry(git, made.get(), name, protected_names)) return false;
  }
  return unlinkat(git, kNewRepository, AT_REMOVEDIR) == 0;
}

auto TakingOf(const std::vector<std::string>& protected_names) {
  return [protected_names](int git) { return TakeNewRepository(git, protected_names); };
}

// Makes info/exclude, since a placeholder in the working tree is no file of the repository.
std::optional<GitExclude> ExcludeIn(int made, const std::vector<std::string>& hidden) {
  mkdirat(made, "info", 0755);
  const Descriptor info(openat(made, "info", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!info.valid()) return std::nullopt;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  { const Descriptor file(openat(info.get(), "exclude", kFlags, 0644)); }
  return GitExclude::Add(info.get(), hidden);
}

}  // namespace

bool IsNewRepository(const std::string& path) {
  NotePath(path);
  const Descriptor tree(
      open(path.substr(0, path.rfind('/') + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree.valid() || !Placeholder::IsOne(tree.get(), kGit, kNewForm)) return false;
  const Descriptor git(openat(tree.get(), kGit, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return git.valid() && IsThere(git.get(), kNewRepository) && !IsThere(git.get(), kHead);
}

void FinishNewRepository(int tree, const std::vector<std::string>& protected_names) {
  const Descriptor git(openat(tree, kGit, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!git.valid() || !IsThere(git.get(), kNewRepository)) return;
  static_cast<void>(Placeholder::FinishLeft(tree, kGit, TakingOf(protected_names)));
}

Result<std::optional<NewRepository>> MakeNewRepository(
    int tree, const std::vector<std::string>& protected_names,
    const std::vector<std::string>& hidden) {
  TRY_ASSIGN(auto taken, Placeholder::Take(tree, kGit, kNewForm));
  if (!taken) return std::optional<NewRepository>{};
  NewRepository repository{std::move(*taken), {}};
  const int git = repository.placeholder.entry();
  repository.placeholder.OnLast(TakingOf(protected_names));
  if (mkdirat(git, kNewRepository, 0755) != 0 && errno != EEXIST) {
    return SystemError("mkdir", errno);
  }
  const Descriptor made(openat(git, kNewRepository, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return SystemError("open", errno);
  if (!hidden.empty()) {
    if (auto exclude = ExcludeIn(made.get(), hidden)) {
      repository.excludes.push_back(std::move(*exclude));
    }
  }
  return std::optional(std::move(repository));
}

}  // namespace native_runner
