#include "supervise/project/project_scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "protocol/order.h"
#include "supervise/host/setup_facts.h"
#include "supervise/os/file_threads.h"
#include "supervise/project/git_repository.h"

namespace native_runner {
namespace {

using Paths = std::vector<std::string>;

struct Entry {
  std::string path;
  unsigned char type = DT_UNKNOWN;
};

unsigned char EntryTypeOf(const std::string& path) {
  NotePath(path);
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) return 0;
  return static_cast<unsigned char>(IFTODT(status.stx_mode));
}

class Rules {
 public:
  // Paths in `opened` are fully readable: the caller adds rules for them.
  Rules(const Paths& opened, const Paths& secrets) : closed_(secrets.begin(), secrets.end()) {
    for (const std::string& secret : secrets) {
      for (std::size_t end = secret.rfind('/'); end != 0; end = secret.rfind('/', end - 1))
        above_.insert(secret.substr(0, end));
    }
    closed_.insert(opened.begin(), opened.end());
  }

  void Add(char kind, const std::string& path) { rules_.push_back(kind + path); }

  // Allows reading all entries of `directory` except the closed ones, and listing it.
  void AddAround(const std::string& directory) {
    Add(kRuleList, directory);
    for (const Entry& entry : EntriesOf(directory)) {
      // A link needs no rule: its target's rule applies.
      if (entry.type == DT_LNK || closed_.contains(entry.path)) continue;
      if (entry.type == DT_DIR && above_.contains(entry.path)) {
        AddAround(entry.path);
      } else {
        Add(kRuleReadEntry, entry.path);
      }
    }
  }

  Paths Take() { return std::move(rules_); }

 private:
  std::vector<Entry> EntriesOf(const std::string& directory) const {
    NotePath(directory);
    DIR* listed = opendir(directory.c_str());
    if (listed == nullptr) return KnownEntriesOf(directory);
    std::vector<Entry> entries;
    while (const dirent* each = readdir(listed)) {
      const std::string_view name = each->d_name;
      if (name == "." || name == "..") continue;
      Entry entry{JoinPath(directory, name), each->d_type};
      if (entry.type == DT_UNKNOWN) entry.type = EntryTypeOf(entry.path);
      entries.push_back(std::move(entry));
    }
    closedir(listed);
    return entries;
  }

  // Entries of a directory that can be entered but not listed, such as /home on some machines: only
  // those on the way to a secret are known.
  std::vector<Entry> KnownEntriesOf(const std::string& directory) const {
    std::vector<Entry> entries;
    for (const std::string& path : above_) {
      if (path.substr(0, path.rfind('/')) != directory) continue;
      const unsigned char type = EntryTypeOf(path);
      if (type != 0) entries.push_back({path, type});
    }
    return entries;
  }

  std::set<std::string> closed_;
  std::set<std::string> above_;  // directories above a secret, at any depth
  Paths rules_;
};

// Returns the rules of a second wall inside a project's sandbox, in the order's form
// (protocol/order.h). Masks hide the secrets that exist when a run starts, but the kernel removes a
// mask when the host replaces the file under it. Landlock identifies files by inode, not by name:
// the rules allow all that is around the secrets now, so a file that replaces a secret, or is made
// in its place, can't be read. The same goes for all other files made beside a secret meanwhile.
//
// `secrets`: absolute paths with all links resolved, existing or not. In the folders, in the
// private directories and in the kernel's, only masks hide them.
std::vector<std::string> ProjectRules(const ProjectPolicy& policy, const ProjectFacts& facts,
                                      const std::vector<std::string>& secrets) {
  Paths writable = facts.scratch;
  writable.insert(writable.end(), policy.folders.begin(), policy.folders.end());
  writable.emplace_back("/proc");
  Paths opened = writable;
  opened.emplace_back("/dev");
  Paths around;
  for (const std::string& secret : secrets) {
    const bool is_opened = std::any_of(opened.begin(), opened.end(), [&](const auto& directory) {
      return PathCovers(directory, secret);
    });
    if (!is_opened) around.push_back(secret);
  }
  Rules rules(opened, around);
  rules.AddAround("/");
  for (const std::string& path : opened)
    rules.Add(kRuleRead, path);
  for (const std::string& path : writable)
    rules.Add(kRuleWrite, path);
  rules.Add(kRuleWrite, "/dev/shm");
  rules.Add(kRuleDevice, "/dev");
  rules.Add(kRuleDevice, "/proc");
  return rules.Take();
}

// Protects paths in the folders of a project: examines the existing entries, makes placeholders for
// missing ones, and records both for the plan. Supervisor thread, for one run.
class ProtectedWalk {
 public:
  // With `plan_only` it makes nothing. The other arguments must outlive this.
  ProtectedWalk(const std::vector<Workspace>& folders, bool plan_only, ProjectFacts* facts,
                std::vector<Placeholder>* placeholders)
      : folders_(folders), plan_only_(plan_only), facts_(facts), placeholders_(placeholders) {}

  // Protects an absolute path; a path outside all folders needs no protection, as it can't be
  // written. `form`: placeholder for the last component, if only that is missing; otherwise an
  // empty directory is made for the first missing component. kSetup, naming the path, if it can't
  // be protected: a symbolic link, which could be replaced, a folder itself, or a directory in
  // which nothing can be made.
  std::optional<Error> Protect(const std::string& path, Placeholder::Form form = {});

 private:
  std::optional<Error> Replace(int directory, const std::string& name, const std::string& path,
                               Placeholder::Form form);

  const std::vector<Workspace>& folders_;
  bool plan_only_;
  ProjectFacts* facts_;
  std::vector<Placeholder>* placeholders_;
};

// Returns true if no command can make an entry here. Commands run as our user, so they could only
// after a chmod, which needs ownership.
bool NobodyCanMake(int directory) {
  if (faccessat(directory, ".", W_OK, AT_EACCESS) == 0) return false;
  if (errno == EROFS) return true;
  struct statx status {};
  return errno == EACCES && statx(directory, "", AT_EMPTY_PATH, STATX_UID, &status) == 0 &&
         status.stx_uid != geteuid();
}

Error CannotProtect(const std::string& path, std::string_view why) {
  return {ErrorCode::kSetup, path + " can't be protected: " + std::string(why),
          "take it off readOnly, or change it on the host"};
}

// For a placeholder that can't be made. On a file system that is full, no path can be protected
// that is missing, whichever it is.
Error CannotHold(const std::string& path, const std::string& why) {
  Error error = CannotProtect(path, why);
  for (const int full : {ENOSPC, EDQUOT}) {
    if (!why.ends_with(std::strerror(full))) continue;
    error.fix =
        "free some inodes and space there on the host, or make the Bwrap with `readOnly: []`, "
        "which "
        "needs none: then commands can remove files, and change all";
  }
  return error;
}

const Workspace* FolderOf(const std::string& path, const std::vector<Workspace>& folders) {
  for (const Workspace& folder : folders) {
    if (PathCovers(folder.path, path)) return &folder;
  }
  return nullptr;
}

// Examines each component and enters all but the last, without following links.
std::optional<Error> ProtectedWalk::Protect(const std::string& target, Placeholder::Form form) {
  const Workspace* folder = FolderOf(target, folders_);
  if (folder == nullptr) return std::nullopt;
  if (SamePath(folder->path, target)) return CannotProtect(target, "it is a folder that is shared");
  const std::string normal = NormalPath(target);
  const std::string_view inside = std::string_view(normal).substr(folder->path.size());
  const auto components = PathComponents(inside);
  std::string path = folder->path;
  Descriptor entered;
  int directory = folder->directory.get();
  for (std::size_t i = 0; i < components.size(); ++i) {
    const bool is_last = i + 1 == components.size();
    const std::string name(components[i]);
    path = JoinPath(path, name);
    NotePath(path);
    struct statx status {};
    const bool there =
        statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0;
    if (!there && errno != ENOENT) return CannotProtect(path, std::strerror(errno));
    const Placeholder::Form missing = is_last ? form : Placeholder::Form{};
    if (!there || Placeholder::IsOne(directory, name, missing))
      return Replace(directory, name, path, missing);
    if (missing.is_file && Placeholder::IsOne(directory, name, {}))
      return Replace(directory, name, path, {});
    if (S_ISLNK(status.stx_mode)) return CannotProtect(path, "it is a symbolic link");
    if (!S_ISDIR(status.stx_mode) || is_last) break;
    Descriptor next(openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return CannotProtect(path, std::strerror(errno));
    facts_->pinned.push_back(path);
    entered = std::move(next);
    directory = entered.get();
  }
  facts_->protected_paths.push_back(path);
  return std::nullopt;
}

std::optional<Error> ProtectedWalk::Replace(int directory, const std::string& name,
                                            const std::string& path, Placeholder::Form form) {
  if (!plan_only_) {
    auto taken = Placeholder::Take(directory, name, form);
    if (!taken) {
      if (NobodyCanMake(directory)) return std::nullopt;
      return CannotHold(path, taken.error().message);
    }
    if (!*taken) return CannotProtect(path, "it was made while the run was set up");
    placeholders_->push_back(std::move(**taken));
  }
  (form.is_file ? facts_->protected_paths : facts_->placeholders).push_back(path);
  return std::nullopt;
}

// Directories of the host's own processes: their files, sockets and locks are not for commands.
constexpr std::array kScratch = {"/tmp", "/var/tmp", "/run"};
// Programs in /run: NixOS has all of its own there.
constexpr std::array kPrograms = {"/run/current-system", "/run/booted-system"};
constexpr const char* kResolver = "/etc/resolv.conf";  // often a link into /run

bool IsDirectoryItself(const std::string& path) {
  NotePath(path);
  struct statx status {};
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
         S_ISDIR(status.stx_mode);
}

// Adds masks for the secrets that exist. Returns the place of each secret, existing or not, behind
// links and without them.
std::vector<std::string> AddSecrets(const std::vector<std::string>& paths, Secrets* secrets) {
  std::vector<std::string> places;
  for (const std::string& path : paths) {
    const std::size_t name = path.rfind('/');
    const std::string above = RealPathAsFar(path.substr(0, name + 1));
    places.push_back(NormalPath(JoinPath(above, path.substr(name + 1))));
    std::string real = RealPath(path);
    if (real.empty()) continue;
    auto& list = IsDirectoryItself(real) ? secrets->directories : secrets->files;
    list.push_back(std::move(real));
  }
  for (const auto* list : {&secrets->files, &secrets->directories})
    places.insert(places.end(), list->begin(), list->end());
  return places;
}

void AddScratch(Network network, ProjectFacts* facts) {
  for (const char* path : kScratch) {
    const std::string real = RealPath(path);
    if (!real.empty() && IsDirectoryItself(real)) facts->scratch.push_back(real);
  }
  for (const char* path : kPrograms) {
    if (access(path, F_OK) == 0) facts->shown.emplace_back(path);
  }
  const std::string resolver = network == Network::kAllow ? RealPath(kResolver) : "";
  if (PathCovers("/run", resolver)) facts->shown.push_back(resolver);
}

// Returns the placeholder for a missing path: a file where git would fail on a directory.
Placeholder::Form FormOf(GitPath::Kind kind) {
  const bool is_common = kind == GitPath::Kind::kCommonDirectory;
  return {.is_file = kind != GitPath::Kind::kDirectory, .text = is_common ? ".\n" : ""};
}

std::optional<Error> ProtectProject(const std::string& project, const ProjectPolicy& policy,
                                    ProtectedWalk* walk) {
  std::vector<std::string> protected_names;
  for (const std::string& path : policy.read_only)
    protected_names.push_back(NormalPath(path).substr(1));
  const std::vector<std::string> names = GitNamesOf(protected_names);
  for (const std::string& name : protected_names) {
    if (!GitNamesOf({name}).empty()) continue;
    if (auto error = walk->Protect(JoinPath(project, name))) return error;
  }
  if (names.empty()) return std::nullopt;
  GitSearch search;
  search.working_trees = {project};
  const auto git = FindGitRepository(search);
  if (!git) return git.error();
  for (const GitPath& path : GitPathsOf(git.value(), names)) {
    if (auto error = walk->Protect(path.path, FormOf(path.kind))) return error;
  }
  return std::nullopt;
}

}  // namespace

Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   bool plan_only) {
  ProjectScene scene;
  ProjectFacts& facts = scene.facts;
  facts.host.bwrap_bind_fd = features.bind_fd;
  facts.host.bwrap_perms = features.perms;
  facts.host.bwrap_disable_userns = features.disable_userns && MayLimitUserNamespaces();
  facts.host.is_root = geteuid() == 0;
  const std::vector<std::string> places = AddSecrets(policy.secrets, &secrets);
  facts.host.secret_files = std::move(secrets.files);
  facts.host.secret_directories = std::move(secrets.directories);
  AddScratch(policy.network, &facts);
  scene.rules = ProjectRules(policy, facts, places);
  ProtectedWalk walk(folders, plan_only, &facts, &scene.placeholders);
  for (const std::string& project : policy.projects) {
    if (auto error = ProtectProject(project, policy, &walk)) return *error;
  }
  return scene;
}

}  // namespace native_runner
