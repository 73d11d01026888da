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
#include "supervise/host/host.h"
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
// private directories and in the kernel's, only masks hide them. In a home that is shown
// copy-on-write, its overlay hides them, and what the host puts in their place.
std::vector<std::string> ProjectRules(const ProjectPolicy& policy, const ProjectFacts& facts,
                                      const std::vector<std::string>& secrets) {
  Paths writable = facts.scratch;
  writable.insert(writable.end(), policy.folders.begin(), policy.folders.end());
  writable.emplace_back("/proc");
  if (!facts.home.empty()) writable.push_back(facts.home);
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
  ProtectedWalk(const std::vector<Workspace>& folders, bool plan_only, ProjectScene* scene)
      : folders_(folders),
        plan_only_(plan_only),
        scene_(scene),
        facts_(&scene->facts),
        placeholders_(&scene->placeholders) {}

  // Protects an absolute path, and what symbolic links on it lead to; a path outside all folders
  // needs no protection, as it can't be written. `form`: placeholder for the last component, if it
  // is missing; missing directories above it are made, and commands may fill them. kSetup, naming
  // the path, if it can't be protected: a folder itself, or a directory in which nothing can be
  // made.
  std::optional<Error> Protect(const std::string& path, Placeholder::Form form = {});

  // The same for a path that only has to lead where it leads: of a directory there, the contents
  // may be changed.
  std::optional<Error> ProtectEntry(const std::string& path);

  bool has_files() const { return !files_.empty(); }  // placeholders

  // Keeps git from listing the files that were made in place of missing paths of a project.
  void HideFromGit(const std::string& project, const GitRepository& repository);

  // Lets commands make a repository in a project that has none. `names`: GitNamesOf.
  std::optional<Error> AllowNewRepository(const std::string& project, const Paths& names);

  // Ends what a killed process has left of one, before FindGitRepository; true if none is there.
  bool FinishLeftRepository(const std::string& project, const Paths& names) const;

 private:
  std::optional<Error> Walk(const std::string& path, Placeholder::Form form);

  // Paths of the placeholders that are files, relative to a project.
  Paths FilesIn(const std::string& project) const;

  // Returns false if nothing is there and no command can make anything.
  Result<bool> Replace(int directory, const std::string& name, const std::string& path,
                       Placeholder::Form form);

  // Notes the link `name` in `directory`, which is at `path`, and protects the path that it leads
  // to with `rest` below it.
  std::optional<Error> Follow(int directory, const std::string& name, const std::string& path,
                              const std::string& rest, Placeholder::Form form);

  // Protects a path that may lead into a folder by links outside of them, which stay as they are.
  std::optional<Error> ProtectLinked(std::string path, Placeholder::Form form);

  const std::vector<Workspace>& folders_;
  bool plan_only_;
  ProjectScene* scene_;
  ProjectFacts* facts_;
  std::vector<Placeholder>* placeholders_;
  Paths files_;
  bool is_entry_ = false;
  int links_left_ = 0;
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

constexpr int kMostLinks = 40;  // as the kernel follows

// Stands for a missing directory above a protected path.
constexpr Placeholder::Form kAbove = {.is_file = false, .text = "", .may_be_filled = true};

std::optional<Error> ProtectedWalk::Protect(const std::string& path, Placeholder::Form form) {
  links_left_ = kMostLinks;
  is_entry_ = false;
  return Walk(path, form);
}

std::optional<Error> ProtectedWalk::ProtectEntry(const std::string& path) {
  links_left_ = kMostLinks;
  is_entry_ = true;
  return Walk(path, {});
}

// Examines each component and enters all but the last.
std::optional<Error> ProtectedWalk::Walk(const std::string& target, Placeholder::Form form) {
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
    if (is_last) {
      if (!there || Placeholder::IsOne(directory, name, form)) {
        TRY_ASSIGN(const bool is_held, Replace(directory, name, path, form));
        if (is_held)
          (form.is_file ? facts_->protected_paths : facts_->placeholders).push_back(path);
        if (is_held && form.is_file) files_.push_back(path);
        return std::nullopt;
      }
    } else if (!there || Placeholder::IsOne(directory, name, kAbove)) {
      TRY_ASSIGN(const bool is_held, Replace(directory, name, path, kAbove));
      if (!is_held) return std::nullopt;
      if (plan_only_ && !there) {
        facts_->placeholders.push_back(path);
        return std::nullopt;
      }
      status.stx_mode = S_IFDIR;
    }
    if (S_ISLNK(status.stx_mode)) {
      std::string rest;
      for (std::size_t below = i + 1; below < components.size(); ++below)
        rest = rest.empty() ? components[below] : JoinPath(rest, components[below]);
      return Follow(directory, name, path, rest, form);
    }
    if (is_last && is_entry_ && S_ISDIR(status.stx_mode)) {
      facts_->pinned.push_back(path);
      return std::nullopt;
    }
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

// True if ".." in a link's text follows a name: what that is above of, only a look-up tells.
bool GoesBack(std::string_view text) {
  bool has_name = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view each = text.substr(0, end);
    if (each == ".." && has_name) return true;
    has_name = has_name || (!each.empty() && each != "." && each != "..");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

std::optional<Error> ProtectedWalk::Follow(int directory, const std::string& name,
                                           const std::string& path, const std::string& rest,
                                           Placeholder::Form form) {
  const Descriptor link(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto text = ReadLink(directory, name);
  if (!link.valid() || !text) return CannotProtect(path, std::strerror(errno));
  if (GoesBack(*text)) return CannotProtect(path, "it is a link whose path goes back by \"..\"");
  TRY_ASSIGN(const auto identity, IdentityOf(link.get()));
  scene_->links.push_back(NamedFile(identity, path));
  return ProtectLinked(JoinPath(LinkTarget(path, *text), rest), form);
}

std::optional<Error> ProtectedWalk::ProtectLinked(std::string path, Placeholder::Form form) {
  for (; links_left_ > 0; --links_left_) {
    path = NormalPath(path);
    if (FolderOf(path, folders_) != nullptr) {
      --links_left_;
      return Walk(path, form);
    }
    std::string at;
    std::string next;
    for (const std::string_view each : PathComponents(path)) {
      if (!next.empty()) {
        next = JoinPath(next, each);
        continue;
      }
      at = at + "/" + std::string(each);
      const auto text = ReadLink(AT_FDCWD, at);
      if (!text) continue;
      if (GoesBack(*text)) return CannotProtect(at, "it is a link whose path goes back by \"..\"");
      next = LinkTarget(at, *text);
    }
    if (next.empty()) return std::nullopt;
    path = std::move(next);
  }
  return CannotProtect(path, "too many symbolic links lead to it");
}

Result<bool> ProtectedWalk::Replace(int directory, const std::string& name, const std::string& path,
                                    Placeholder::Form form) {
  if (plan_only_) return true;
  auto taken = Placeholder::Take(directory, name, form);
  if (!taken) {
    if (NobodyCanMake(directory)) return false;
    return CannotHold(path, taken.error().message);
  }
  if (!*taken) return CannotProtect(path, "it was made while the run was set up");
  placeholders_->push_back(std::move(**taken));
  return true;
}

// Opens a directory of a folder without following links; invalid if there is none.
Descriptor OpenInFolder(const Workspace& folder, const std::string& path) {
  int directory = folder.directory.get();
  if (SamePath(folder.path, path)) return Descriptor(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  Descriptor entered;
  const std::string_view below = std::string_view(path).substr(folder.path.size());
  for (const std::string_view each : PathComponents(below)) {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    entered = Descriptor(openat(directory, std::string(each).c_str(), kFlags));
    if (!entered.valid()) break;
    directory = entered.get();
  }
  return entered;
}

Paths ProtectedWalk::FilesIn(const std::string& project) const {
  Paths names;
  for (const std::string& path : files_) {
    if (PathCovers(project, path)) names.push_back(path.substr(project.size() + 1));
  }
  return names;
}

void ProtectedWalk::HideFromGit(const std::string& project, const GitRepository& repository) {
  Paths names = FilesIn(project);
  std::erase_if(names, [](const std::string& name) { return name.starts_with(".git/"); });
  if (names.empty()) return;
  for (const GitDirectory& directory : repository.directories) {
    if (directory.is_linked || directory.path.find("/modules/") != std::string::npos) continue;
    const std::string info = JoinPath(directory.path, "info");
    const Workspace* folder = FolderOf(info, folders_);
    constexpr Placeholder::Form kEmptyFile = {.is_file = true, .text = ""};
    if (folder == nullptr || Protect(JoinPath(info, "exclude"), kEmptyFile) || plan_only_) continue;
    const Descriptor parent = OpenInFolder(*folder, info);
    if (!parent.valid()) continue;
    if (auto added = GitExclude::Add(parent.get(), names)) {
      scene_->excludes.push_back(std::move(*added));
    }
  }
}

std::optional<Error> ProtectedWalk::AllowNewRepository(const std::string& project,
                                                       const Paths& names) {
  const std::string entry = JoinPath(project, ".git");
  if (!plan_only_) {
    const Descriptor tree = OpenInFolder(*FolderOf(project, folders_), project);
    if (!tree.valid()) return CannotProtect(entry, std::strerror(errno));
    auto made = MakeNewRepository(tree.get(), names, FilesIn(project));
    if (!made) {
      if (NobodyCanMake(tree.get())) return std::nullopt;
      return CannotHold(entry, made.error().message);
    }
    if (!*made) return CannotProtect(entry, "it was made while the run was set up");
    placeholders_->push_back(std::move((*made)->placeholder));
    for (GitExclude& exclude : (*made)->excludes)
      scene_->excludes.push_back(std::move(exclude));
  }
  facts_->new_repositories.push_back(entry);
  return std::nullopt;
}

bool ProtectedWalk::FinishLeftRepository(const std::string& project, const Paths& names) const {
  const std::string entry = JoinPath(project, ".git");
  const Descriptor tree = OpenInFolder(*FolderOf(project, folders_), project);
  if (!tree.valid()) return false;
  if (!plan_only_) FinishNewRepository(tree.get(), names);
  if (EntryTypeOf(entry) == 0 || IsNewRepository(entry)) return true;
  if (!plan_only_ && Placeholder::IsOne(tree.get(), "HEAD", {})) {
    static_cast<void>(Placeholder::Take(tree.get(), "HEAD", {}));  // goes when it is let go
  }
  return false;
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
Placeholder::Form FormOf(const GitPath& path) {
  if (path.kind == GitPath::Kind::kDirectory) return PlaceholderFormOf(path.path);
  const bool is_common = path.kind == GitPath::Kind::kCommonDirectory;
  return {.is_file = true, .text = is_common ? ".\n" : ""};
}

std::optional<Error> ProtectProject(const std::string& project, const ProjectPolicy& policy,
                                    ProtectedWalk* walk) {
  std::vector<std::string> protected_names;
  for (const std::string& path : policy.read_only)
    protected_names.push_back(NormalPath(path).substr(1));
  const std::vector<std::string> names = GitNamesOf(protected_names);
  for (const std::string& name : protected_names) {
    if (!GitNamesOf({name}).empty()) continue;
    if (auto error = walk->Protect(JoinPath(project, name), PlaceholderFormOf(name))) return error;
  }
  if (names.empty() && !walk->has_files()) return std::nullopt;
  // Where all of `.git` is protected none can be made.
  const bool may_be_made =
      !names.empty() && std::find(names.begin(), names.end(), "") == names.end();
  const bool is_new = may_be_made && walk->FinishLeftRepository(project, names);
  const std::string entry = JoinPath(project, ".git");
  GitSearch search;
  search.working_trees = {project};
  const auto git = FindGitRepository(search);
  if (!git) return git.error();
  walk->HideFromGit(project, git.value());
  for (const GitPath& path : GitPathsOf(git.value(), names)) {
    const bool is_entry = path.kind == GitPath::Kind::kEntry;
    if (is_entry && is_new && path.path == entry) continue;
    auto error = is_entry ? walk->ProtectEntry(path.path) : walk->Protect(path.path, FormOf(path));
    if (error) return error;
  }
  return is_new ? walk->AllowNewRepository(project, names) : std::nullopt;
}

}  // namespace

ProjectScene::~ProjectScene() {
  excludes.clear();  // before the placeholder of a missing info/exclude, which must be empty
  while (!placeholders.empty())
    placeholders.pop_back();
}

Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   std::optional<Paths> home_mounts, bool plan_only) {
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
  if (features.bind_fd) {
    scene.home = FindProjectHome(policy, facts.scratch, places, std::move(home_mounts));
    facts.home = scene.home.path;
    facts.home_mounts = scene.home.mounts;
  }
  scene.rules = ProjectRules(policy, facts, places);
  ProtectedWalk walk(folders, plan_only, &scene);
  for (const std::string& project : policy.projects) {
    if (auto error = ProtectProject(project, policy, &walk)) return *error;
  }
  return scene;
}

}  // namespace native_runner
