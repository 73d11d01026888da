#include "supervise/project/protected_walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

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

const Workspace* FolderOf(const std::string& path, const std::vector<Workspace>& folders) {
  for (const Workspace& folder : folders) {
    if (PathCovers(folder.path, path)) return &folder;
  }
  return nullptr;
}

}  // namespace

// Each step is an entry that is looked at and, but for the last one, a directory that is entered
// without following links.
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
      return CannotProtect(path, taken.error().message);
    }
    if (!*taken) return CannotProtect(path, "it was made while the run was set up");
    placeholders_->push_back(std::move(**taken));
  }
  (form.is_file ? facts_->protected_paths : facts_->placeholders).push_back(path);
  return std::nullopt;
}

}  // namespace native_runner
