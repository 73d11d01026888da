#include "supervise/project/project_scene.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"
#include "supervise/os/real_path.h"
#include "supervise/os/statx.h"
#include "supervise/project/git_repository.h"
#include "supervise/project/project_rules.h"
#include "supervise/project/protected_walk.h"

namespace native_runner {
namespace {

// Of the host's own processes: files, sockets and locks, which a command has no business with.
constexpr std::array kScratch = {"/tmp", "/var/tmp", "/run"};
// In /run, but programs: NixOS has them all there.
constexpr std::array kPrograms = {"/run/current-system", "/run/booted-system"};
constexpr const char* kResolver = "/etc/resolv.conf";  // often a link into /run

bool IsDirectory(const std::string& path) {
  struct statx status {};
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
         S_ISDIR(status.stx_mode);
}

// Masks for those that exist. Returns where each is or would be, behind links and without them.
std::vector<std::string> AddSecrets(const std::vector<std::string>& paths, Secrets* secrets) {
  std::vector<std::string> places;
  for (const std::string& path : paths) {
    const std::size_t name = path.rfind('/');
    const std::string above = RealPathAsFar(path.substr(0, name + 1));
    places.push_back(NormalPath(JoinPath(above, path.substr(name + 1))));
    std::string real = RealPath(path);
    if (real.empty()) continue;
    auto& list = IsDirectory(real) ? secrets->directories : secrets->files;
    list.push_back(std::move(real));
  }
  for (const auto* list : {&secrets->files, &secrets->directories})
    places.insert(places.end(), list->begin(), list->end());
  return places;
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

constexpr std::string_view kGit = ".git";

// Where git would trip over a directory: what stands for "there is none".
Placeholder::Form FormInGit(std::string_view name) {
  if (name == "commondir") return {.is_file = true, .text = ".\n"};  // the directory itself
  return {.is_file = name == "config" || name == "config.worktree", .text = ""};
}

// `names`: what `.git/` stands before on the list; "" is all of it.
std::optional<Error> ProtectGit(const GitRepository& git, const std::vector<std::string>& names,
                                ProtectedWalk* walk) {
  bool has_config = false;
  for (const std::string& name : names) {
    has_config = has_config || name == "config" || name.empty();
    for (const GitDirectory& directory : git.directories) {
      if (directory.is_linked && (name == "config" || name == "hooks")) continue;
      if (auto error = walk->Protect(JoinPath(directory.path, name), FormInGit(name))) return error;
    }
  }
  for (const std::string& entry : git.entries) {
    if (auto error = walk->Protect(entry)) return error;
  }
  if (!has_config) return std::nullopt;
  for (const std::string& hooks : git.hooks) {
    if (auto error = walk->Protect(hooks)) return error;
  }
  for (const std::string& included : git.included) {
    if (auto error = walk->Protect(included, {.is_file = true, .text = ""})) return error;
  }
  return std::nullopt;
}

std::optional<Error> ProtectProject(const std::string& project, const ProjectPolicy& policy,
                                    ProtectedWalk* walk) {
  std::vector<std::string> names;
  for (const std::string& path : policy.read_only) {
    const std::string normal = NormalPath(path).substr(1);
    if (normal == kGit || normal.starts_with(".git/")) {
      names.push_back(normal == kGit ? "" : normal.substr(kGit.size() + 1));
    } else if (auto error = walk->Protect(JoinPath(project, normal))) {
      return error;
    }
  }
  if (names.empty()) return std::nullopt;
  auto git = FindGitRepository(project);
  return git ? ProtectGit(*git, names, walk) : git.error();
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
