#include "supervise/transaction/kept_workspace.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/step.h"
#include "supervise/os/file_clock.h"
#include "supervise/os/statx.h"
#include "supervise/transaction/namespaces.h"

namespace native_runner {
namespace {

std::string Step(char kind, const FileIdentity& identity, const std::string& path) {
  return kind + std::to_string(identity.device) + ":" + std::to_string(identity.inode) + ":" + path;
}

std::optional<Error> AddStep(char kind, const std::string& path, std::vector<std::string>* steps) {
  auto directory = OpenPath(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) return directory.error();
  const auto identity = IdentityOf(directory->get());
  if (!identity) return identity.error();
  steps->push_back(Step(kind, identity.value(), path));
  return std::nullopt;
}

Error NoOverlay(const Error& why) {
  return Error{ErrorCode::kUnavailable, "no overlay can be mounted here: " + why.message,
               "see docs/transactions.md for what an overlay needs"};
}

}  // namespace

void NoteEntry(const KeptWorkspace& kept) {
  std::uint64_t never = 0;
  kept.entered_ns.compare_exchange_strong(never, FileClock());
  kept.was_entered = true;
}

Result<FileIdentity> IdentityOf(int descriptor) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &status) != 0) {
    return SystemError("statx", errno);
  }
  return FileIdentity{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}

Result<std::shared_ptr<const KeptWorkspace>> KeepWorkspace(const std::string& launcher,
                                                           const Workspace& workspace,
                                                           const OverlayDirectories& directories) {
  const auto below = IdentityOf(workspace.directory.get());
  if (!below) return below.error();
  const bool needs_user_namespace = geteuid() != 0;
  std::vector<std::string> steps;
  if (needs_user_namespace) steps.emplace_back(1, kStepUserNamespace);
  steps.emplace_back(1, kStepMountNamespace);
  steps.push_back(Step(kStepLower, below.value(), workspace.path));
  if (auto error = AddStep(kStepUpper, directories.upper, &steps)) return *error;
  if (auto error = AddStep(kStepWork, directories.work, &steps)) return *error;
  steps.push_back(Step(kStepOverlay, below.value(), workspace.path));
  auto made = MakeNamespaces(launcher, steps);
  if (!made) return NoOverlay(made.error());
  auto kept = std::make_shared<KeptWorkspace>();
  kept->path = workspace.path;
  kept->below = below.value();
  kept->state = directories.state;
  std::size_t at = 0;
  if (needs_user_namespace) kept->user_namespace = std::move((*made)[at++]);
  kept->mount_namespace = std::move((*made)[at++]);
  kept->root = std::move((*made)[at]);
  return std::shared_ptr<const KeptWorkspace>(std::move(kept));
}

Result<std::shared_ptr<const KeptWorkspace>> KeepCopy(const Workspace& workspace,
                                                      const std::string& state,
                                                      const std::string& copy) {
  const auto below = IdentityOf(workspace.directory.get());
  if (!below) return below.error();
  auto root = OpenPath(copy.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!root) return root.error();
  auto kept = std::make_shared<KeptWorkspace>();
  kept->path = workspace.path;
  kept->copy = copy;
  kept->below = below.value();
  kept->state = state;
  kept->root = std::move(*root);
  return std::shared_ptr<const KeptWorkspace>(std::move(kept));
}

}  // namespace native_runner
