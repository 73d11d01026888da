#include "supervise/project/project_home.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/text/path.h"
#include "protocol/order.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

using Paths = std::vector<std::string>;

bool IsBelowAnyOf(const Paths& above, const std::string& path) {
  return std::ranges::any_of(above, [&path](const auto& each) { return PathCovers(each, path); });
}

bool IsAboveAnyOf(const Paths& below, const std::string& path) {
  return std::ranges::any_of(below, [&path](const auto& each) { return PathCovers(path, each); });
}

// The kernel's file systems, of which commands have their own.
constexpr std::array kOfTheKernel = {"/dev", "/proc", "/sys"};

bool IsOwnDirectory(const std::string& path) {
  const bool is_kernels =
      std::ranges::any_of(kOfTheKernel, [&path](const char* top) { return PathCovers(top, path); });
  return !is_kernels && RealPath(path) == path &&
         faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

bool CanBeEntered(const std::string& path) {
  NotePath(path);
  auto opened = OpenPath(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  return opened && opened->valid();
}

}  // namespace

ProjectHome FindProjectHome(const ProjectPolicy& policy, const Paths& scratch, const Paths& secrets,
                            std::optional<Paths> mounts) {
  const std::string& home = policy.home;
  // The kernel makes no overlay over a directory with a mount that a user namespace has inherited.
  const bool has_locked = geteuid() != 0 && mounts && !mounts->empty();
  const bool can_be_shown = !home.empty() && !has_locked && mounts &&
                            !IsBelowAnyOf(scratch, home) && !IsBelowAnyOf(policy.folders, home) &&
                            !IsBelowAnyOf(secrets, home) && IsOwnDirectory(home);
  if (!can_be_shown) return {};
  ProjectHome shown{.path = home, .hidden = {}, .mounts = {}};
  for (const std::string& secret : secrets) {
    if (!PathCovers(home, secret) || IsBelowAnyOf(policy.folders, secret)) continue;
    const bool can_be_hidden = secret.find('\n') == std::string::npos &&
                               !IsAboveAnyOf(policy.folders, secret) &&
                               !IsBelowAnyOf(*mounts, secret);
    if (!can_be_hidden) return {};
    shown.hidden.push_back(secret);
  }
  shown.hidden = OutermostPaths(std::move(shown.hidden));
  for (std::string& mount : *mounts) {
    const bool is_shown = !IsBelowAnyOf(policy.folders, mount) &&
                          !IsBelowAnyOf(shown.hidden, mount) && CanBeEntered(mount);
    if (is_shown) shown.mounts.push_back(std::move(mount));
  }
  if (shown.mounts.size() + policy.folders.size() + 1 > kMostKept) return {};  // 1: a copy's folder
  return shown;
}

std::optional<Error> OrderHome(const ProjectHome& home, std::span<const PlacedDirectory> folders,
                               int descriptor, int launcher, SpawnPlan* plan) {
  TRY_ASSIGN(std::string step, NamedDirectory(home.path));
  step = kStepCache + std::to_string(descriptor) + ":" + step;
  for (const std::string& path : home.hidden)
    step += '\n' + path.substr(home.path.size() + 1);
  plan->caches.push_back(std::move(step));
  plan->spawn.inherited.push_back({launcher, descriptor});  // holds the number
  for (const std::string& path : home.mounts) {
    TRY_ASSIGN(std::string mount, NamedDirectory(path));
    plan->caches.push_back(kStepKept + mount);
  }
  for (const PlacedDirectory& folder : folders) {
    const bool is_in =
        PathCovers(home.path, folder.path) && !IsBelowAnyOf(home.mounts, folder.path);
    if (is_in) plan->caches.push_back(kStepKept + NamedFile(folder.identity, folder.path));
  }
  return std::nullopt;
}

}  // namespace native_runner
