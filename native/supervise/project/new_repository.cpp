#include "supervise/project/new_repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/project.h"
#include "policy/git/git_config.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
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
