#include "supervise/project/project_scene.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

// Of the host's own processes: files, sockets and locks, which a command has no business with.
constexpr std::array kScratch = {"/tmp", "/var/tmp", "/run"};
// In /run, but programs: NixOS has them all there.
constexpr std::array kPrograms = {"/run/current-system", "/run/booted-system"};
constexpr const char* kResolver = "/etc/resolv.conf";  // often a link into /run

std::string RealPath(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? "" : resolved.data();
}

bool IsDirectory(const std::string& path) {
  struct statx status {};
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
         S_ISDIR(status.stx_mode);
}

void AddSecrets(const std::vector<std::string>& paths, Secrets* secrets) {
  for (const std::string& path : paths) {
    std::string real = RealPath(path);
    if (real.empty()) continue;  // not there: in a read-only root it stays so
    auto& list = IsDirectory(real) ? secrets->directories : secrets->files;
    list.push_back(std::move(real));
  }
}

void AddScratch(Network network, ProjectFacts* facts) {
  for (const char* path : kScratch) {
    const std::string real = RealPath(path);
    if (!real.empty() && IsDirectory(real)) facts->scratch.push_back(real);
  }
  for (const char* path : kPrograms) {
    if (access(path, F_OK) == 0) facts->shown.emplace_back(path);
  }
  const std::string resolver = network == Network::kAllow ? RealPath(kResolver) : "";
  if (PathCovers("/run", resolver)) facts->shown.push_back(resolver);
}

// A command is of our user: it could only make an entry here after a chmod, which is the owner's.
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

// Goes down one protected path; each step is an entry that is looked at and, but for the last one,
// a directory that is entered without following links.
class ProtectedWalk {
 public:
  ProtectedWalk(ProjectScene* scene, bool plan_only) : scene_(scene), plan_only_(plan_only) {}

  std::optional<Error> Go(const Workspace& folder, const std::string& relative) {
    const auto components = PathComponents(relative);
    std::string path = folder.path;
    Descriptor entered;
    int directory = folder.directory.get();
    for (std::size_t i = 0; i < components.size(); ++i) {
      const std::string name(components[i]);
      path = JoinPath(path, name);
      struct statx status {};
      const bool there =
          statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0;
      if (!there && errno != ENOENT) return CannotProtect(path, std::strerror(errno));
      if (!there || PlaceholderDirectory::IsOne(directory, name))
        return Replace(directory, name, path);
      if (S_ISLNK(status.stx_mode)) return CannotProtect(path, "it is a symbolic link");
      if (!S_ISDIR(status.stx_mode) || i + 1 == components.size()) break;
      Descriptor next(
          openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next.valid()) return CannotProtect(path, std::strerror(errno));
      scene_->facts.pinned.push_back(path);
      entered = std::move(next);
      directory = entered.get();
    }
    scene_->facts.protected_paths.push_back(path);
    return std::nullopt;
  }

 private:
  std::optional<Error> Replace(int directory, const std::string& name, const std::string& path) {
    if (!plan_only_) {
      auto taken = PlaceholderDirectory::Take(directory, name);
      if (!taken) {
        if (NobodyCanMake(directory)) return std::nullopt;
        return CannotProtect(path, taken.error().message);
      }
      if (!*taken) return CannotProtect(path, "it was made while the run was set up");
      scene_->placeholders.push_back(std::move(**taken));
    }
    scene_->facts.placeholders.push_back(path);
    return std::nullopt;
  }

  ProjectScene* scene_;
  bool plan_only_;
};

const Workspace* FolderOf(const std::string& project, const std::vector<Workspace>& folders) {
  for (const Workspace& folder : folders) {
    if (PathCovers(folder.path, project)) return &folder;
  }
  return nullptr;
}

}  // namespace

Result<ProjectScene> LookAtProject(const ProjectPolicy& policy, const BwrapFeatures& features,
                                   const std::vector<Workspace>& folders, Secrets secrets,
                                   bool plan_only) {
  ProjectScene scene;
  ProjectFacts& facts = scene.facts;
  facts.host.bwrap_bind_fd = features.bind_fd;
  facts.host.bwrap_perms = features.perms;
  facts.host.bwrap_disable_userns = features.disable_userns;
  facts.host.is_root = geteuid() == 0;
  AddSecrets(policy.secrets, &secrets);
  facts.host.secret_files = std::move(secrets.files);
  facts.host.secret_directories = std::move(secrets.directories);
  AddScratch(policy.network, &facts);
  ProtectedWalk walk(&scene, plan_only);
  for (const std::string& project : policy.projects) {
    const Workspace* folder = FolderOf(project, folders);
    if (folder == nullptr) continue;
    const std::string inside = project.substr(folder->path.size());
    for (const std::string& path : policy.read_only) {
      if (auto error = walk.Go(*folder, inside + "/" + path)) return *error;
    }
  }
  return scene;
}

}  // namespace native_runner
