#include "policy/bubblewrap/project.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

// The role of a mount. If two have the same path, the first role in this list wins.
enum class Role {
  kFolder,
  kSecretDirectory,
  kSecretFile,
  kPlaceholder,
  kProtected,
  kNewRepository,
  kPinned
};

struct ProjectMount {
  std::string path;
  Role role = Role::kFolder;
  int descriptor = -1;
};

using Paths = std::vector<std::string>;

bool IsCovered(const Paths& by, std::string_view path) {
  return std::any_of(by.begin(), by.end(),
                     [path](const std::string& above) { return PathCovers(above, path); });
}

void AddMounts(std::vector<ProjectMount>& mounts, const Paths& paths, Role role) {
  for (const std::string& path : paths)
    mounts.push_back({NormalPath(path), role, -1});
}

// Returns the mounts, parents before the paths below them.
std::vector<ProjectMount> SortedMounts(const ProjectPolicy& policy, const ProjectFacts& facts,
                                       int first_descriptor) {
  std::vector<ProjectMount> mounts;
  for (std::size_t i = 0; i < policy.folders.size(); ++i) {
    const int descriptor = first_descriptor < 0 ? -1 : first_descriptor + static_cast<int>(i);
    mounts.push_back({NormalPath(policy.folders[i]), Role::kFolder, descriptor});
  }
  AddMounts(mounts, facts.host.secret_directories, Role::kSecretDirectory);
  AddMounts(mounts, facts.host.secret_files, Role::kSecretFile);
  AddMounts(mounts, facts.placeholders,
            facts.host.bwrap_perms ? Role::kPlaceholder : Role::kProtected);
  AddMounts(mounts, facts.protected_paths, Role::kProtected);
  AddMounts(mounts, facts.new_repositories, Role::kNewRepository);
  AddMounts(mounts, facts.pinned, Role::kPinned);
  std::sort(mounts.begin(), mounts.end(), [](const ProjectMount& a, const ProjectMount& b) {
    const auto left = PathComponents(a.path);
    const auto right = PathComponents(b.path);
    return left != right ? left < right : a.role < b.role;
  });
  const auto last =
      std::unique(mounts.begin(), mounts.end(),
                  [](const ProjectMount& a, const ProjectMount& b) { return a.path == b.path; });
  mounts.erase(last, mounts.end());
  return mounts;
}

Mount Bind(Mount::Kind kind, const std::string& path, int descriptor = -1) {
  return {.kind = kind, .source = path, .target = path, .descriptor = descriptor};
}

// Adds the mounts over the read-only root and keeps the masks that must still be made read-only.
class PlaceMounts {
 public:
  // `hidden`: directories that show nothing of the host.
  PlaceMounts(std::vector<Mount>* mounts, Paths hidden)
      : mounts_(mounts), hidden_(std::move(hidden)) {}

  void Add(const ProjectMount& mount) {
    const bool in_folder = IsCovered(folders_, mount.path);
    switch (mount.role) {
      case Role::kFolder:
        mounts_->push_back(Bind(Mount::Kind::kBind, mount.path, mount.descriptor));
        folders_.push_back(mount.path);
        break;
      case Role::kSecretDirectory:
        if (IsHidden(mount.path, in_folder)) return;
        mounts_->push_back(OnTarget(Mount::Kind::kTmpfs, mount.path));
        masks_.push_back(mount.path);
        closed_.push_back(mount.path);
        break;
      case Role::kSecretFile:
        if (IsHidden(mount.path, in_folder)) return;
        mounts_->push_back(
            {.kind = Mount::Kind::kReadOnlyBind, .source = "/dev/null", .target = mount.path});
        closed_.push_back(mount.path);
        break;
      case Role::kPlaceholder:  // several times cheaper than a bind
        if (IsCovered(closed_, mount.path)) return;
        mounts_->push_back(OnTarget(Mount::Kind::kEmpty, mount.path));
        closed_.push_back(mount.path);
        break;
      case Role::kProtected:
        if (IsCovered(closed_, mount.path)) return;
        mounts_->push_back(Bind(Mount::Kind::kReadOnlyBind, mount.path));
        closed_.push_back(mount.path);
        break;
      case Role::kNewRepository:
        if (IsCovered(closed_, mount.path)) return;
        mounts_->push_back({.kind = Mount::Kind::kBind,
                            .source = JoinPath(mount.path, kNewRepository),
                            .target = mount.path});
        break;
      case Role::kPinned:
        if (IsCovered(closed_, mount.path)) return;
        mounts_->push_back(Bind(Mount::Kind::kBind, mount.path));
        break;
    }
  }

  const Paths& masks() const { return masks_; }

 private:
  // True if nothing of the host shows at `path`. A mask there would only make a new file.
  bool IsHidden(const std::string& path, bool in_folder) const {
    return in_folder ? IsCovered(InnerMasks(path), path)
                     : IsCovered(hidden_, path) || IsCovered(masks_, path);
  }

  // Returns the masks inside the folder that contains `path`.
  Paths InnerMasks(const std::string& path) const {
    Paths inner;
    for (const std::string& mask : masks_) {
      const bool in_same = std::any_of(folders_.begin(), folders_.end(), [&](const auto& folder) {
        return PathCovers(folder, path) && PathCovers(folder, mask);
      });
      if (in_same) inner.push_back(mask);
    }
    return inner;
  }

  std::vector<Mount>* mounts_;
  Paths hidden_;
  Paths folders_;
  Paths masks_;
  Paths closed_;  // nothing in there can be written anyway
};

std::optional<Error> CheckFolder(const std::string& folder, const std::string& field) {
  TRY(CheckPlainPath(folder, field));
  constexpr std::array kKernels = {"/proc", "/sys", "/dev"};
  const bool is_kernels = std::any_of(kKernels.begin(), kKernels.end(), [&folder](const char* top) {
    return PathCovers(top, folder);
  });
  if (!is_kernels && !SamePath(folder, "/")) return std::nullopt;
  return Error{ErrorCode::kInvalidValue,
               "Expected `" + field + "` to be a folder that may be made writable, got " +
                   QuotedShort(folder),
               ""};
}

}  // namespace

std::optional<Error> CheckPolicy(const ProjectPolicy& policy) {
  TRY(CheckProgram(policy.bwrap_path, "bwrapPath"));
  for (std::size_t i = 0; i < policy.folders.size(); ++i) {
    const std::string field = "folders[" + std::to_string(i) + "]";
    TRY(CheckFolder(policy.folders[i], field));
  }
  for (std::size_t i = 0; i < policy.projects.size(); ++i) {
    const std::string& project = policy.projects[i];
    if (IsCovered(policy.folders, project)) continue;
    return Error{ErrorCode::kInvalidValue,
                 "Expected `projects[" + std::to_string(i) + "]` to be in a folder, got " +
                     QuotedShort(project),
                 ""};
  }
  TRY(CheckAbsolutePaths(policy.secrets, "secrets"));
  if (!policy.home.empty()) TRY(CheckPlainPath(policy.home, "home"));
  for (std::size_t i = 0; i < policy.read_only.size(); ++i) {
    const std::string& path = policy.read_only[i];
    const std::string field = "readOnly[" + std::to_string(i) + "]";
    TRY(CheckPath(path, field));
    if (path.starts_with('/') || HasParentComponent(path) || PathComponents(path).empty()) {
      return Error{
          ErrorCode::kInvalidValue,
          "Expected `" + field + "` to be a path inside a folder, got " + QuotedShort(path), ""};
    }
  }
  return std::nullopt;
}

BubblewrapPlan PlanProject(const ProjectPolicy& policy, const ProjectFacts& facts,
                           int first_descriptor, std::uint64_t tmp_bytes) {
  BubblewrapPlan plan;
  PlanNetwork(policy.network, &plan.hardening);
  plan.hardening.isolate = true;
  plan.hardening.disable_userns = policy.disable_userns && facts.host.bwrap_disable_userns;
  plan.hardening.as_pid_1 = true;
  plan.secrets_masked = true;
  if (!policy.projects.empty()) plan.chdir = policy.projects.front();

  std::vector<Mount>& mounts = plan.mounts;
  mounts.push_back(Bind(Mount::Kind::kReadOnlyBind, "/"));
  mounts.push_back(policy.host_proc ? Bind(Mount::Kind::kReadOnlyBind, "/proc")
                                    : OnTarget(Mount::Kind::kProc, "/proc"));
  mounts.push_back(OnTarget(Mount::Kind::kDev, "/dev"));
  for (const std::string& path : facts.scratch) {
    mounts.push_back(OnTarget(Mount::Kind::kTmpfs, path));
    mounts.back().size_bytes = tmp_bytes;
  }
  for (const std::string& path : facts.shown)
    mounts.push_back(Bind(Mount::Kind::kReadOnlyBind, path));
  if (!facts.home.empty()) {
    mounts.push_back(Bind(Mount::Kind::kCache, facts.home, facts.home_descriptor));
    for (const std::string& path : facts.home_mounts)
      mounts.push_back(Bind(Mount::Kind::kReadOnlyBind, path));
  }

  PlaceMounts placed(&mounts, facts.scratch);
  for (const ProjectMount& mount : SortedMounts(policy, facts, first_descriptor))
    placed.Add(mount);

  if (plan.hardening.net_by_domain) {
    for (Mount& file : PlanNameFiles(facts.host.name_files, facts.host.bwrap_perms))
      mounts.push_back(std::move(file));
  }
  // From here on only the folders and the private directories can be written.
  for (const std::string& mask : placed.masks())
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, mask));
  mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/dev"));
  mounts.push_back(OnTarget(Mount::Kind::kTmpfs, "/dev/shm"));
  mounts.back().size_bytes = tmp_bytes;
  if (facts.host.is_root && !policy.host_proc) {
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/proc"));
  }
  return plan;
}

namespace {

struct NamedForm {
  std::string_view name;
  PlaceholderForm form;
};

constexpr PlaceholderForm kEmptyDirectory;
constexpr PlaceholderForm kEmptyFile = {.is_file = true, .text = ""};

constexpr PlaceholderForm Text(std::string_view text) {
  return {.is_file = true, .text = text};
}

constexpr std::array kForms = {
    // npm, pnpm and yarn fail on a directory. An empty file sets nothing.
    NamedForm{".npmrc", kEmptyFile},
    NamedForm{".yarnrc.yml", kEmptyFile},
    // A module that exports nothing: pnpm writes no checksum of it into its lock file.
    NamedForm{".pnpmfile.cjs", kEmptyFile},
    // An empty text is no JSON.
    NamedForm{".mcp.json", Text("{ \"mcpServers\": {} }\n")},
    // Every git command fails on a directory.
    NamedForm{".gitconfig", kEmptyFile},
    // Shells and gdb complain about a directory.
    NamedForm{".bashrc", kEmptyFile},
    NamedForm{".bash_logout", kEmptyFile},
    NamedForm{".profile", kEmptyFile},
    NamedForm{".zshrc", kEmptyFile},
    NamedForm{".zprofile", kEmptyFile},
    NamedForm{".zshenv", kEmptyFile},
    NamedForm{".zlogin", kEmptyFile},
    NamedForm{".gdbinit", kEmptyFile},
    // A login shell reads the first of .bash_profile, .bash_login and .profile that exists, even if
    // it is empty, a directory or unreadable: these lead on to the next.
    NamedForm{".bash_profile", Text("if [ -r ~/.bash_login ]; then . ~/.bash_login; "
                                    "elif [ -r ~/.profile ]; then . ~/.profile; fi\n")},
    NamedForm{".bash_login", Text("if [ -r ~/.profile ]; then . ~/.profile; fi\n")},
    // Vim reads the first of these that exists.
    NamedForm{".vimrc", Text("if filereadable(expand('~/.vim/vimrc')) | source ~/.vim/vimrc | "
                             "else | silent! source $VIMRUNTIME/defaults.vim | endif\n")},
    // direnv passes over a directory. An empty file would hide the one of a directory above, and
    // the host's shell would report it as blocked.
    NamedForm{".envrc", kEmptyDirectory},
    // Programs look for files in these.
    NamedForm{".githooks", kEmptyDirectory},
    NamedForm{".husky", kEmptyDirectory},
    NamedForm{".vscode", kEmptyDirectory},
    NamedForm{".idea", kEmptyDirectory},
    NamedForm{".claude", kEmptyDirectory},
    NamedForm{".ssh", kEmptyDirectory},
};

}  // namespace

PlaceholderForm PlaceholderFormOf(std::string_view path) {
  while (path.ends_with('/'))
    path.remove_suffix(1);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto* const found = std::find_if(
      kForms.begin(), kForms.end(), [name](const NamedForm& each) { return each.name == name; });
  return found == kForms.end() ? kEmptyDirectory : found->form;
}

}  // namespace native_runner
