#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policy/result.h"
#include "protocol/identity.h"
#include "protocol/layer.h"
#include "supervise/host/program.h"
#include "supervise/os/file.h"
#include "supervise/preparation/backend.h"
#include "supervise/transaction/mounted_workspace.h"

namespace native_runner {

// Makes the spawned process of `plan`, which is `program`, start in the namespaces of `mounted`
// (unless nullptr), and in its own network namespace if the plan's network is by domain: a launcher
// is spawned in its place, enters the former, makes the latter with its listeners, and executes the
// program. As root, the program finds the host's device nodes in read-only mounts: of the launcher
// (kStepDevices), or of the spawned process itself. It also finds the plan's links in mounts of
// their own (kStepLink), and its caches copy-on-write (kStepShowCaches). The rest of the plan stays
// unchanged, but afterwards only the descriptors 0 to 4 may be added to it. The plan keeps
// `mounted` until its end is proved. kSetup if the program can't be opened.
//
// A copy has no namespaces to enter: the plan only keeps it.
//
// `launcher`: the sealed image. The program is looked up here, on the host: in the namespaces, a
// command could have written a file at its path.
std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& mounted,
                                  const Program& program, int launcher, SpawnPlan* plan);

// The same for a plan that spawns the launcher itself, which finds the workspace at its path and
// not by descriptor. `workspace`: the host's, see CheckUnmoved; for a copy, TakeCopy checks it.
std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& mounted,
                                  int workspace, int launcher, SpawnPlan* plan);

// Makes the launcher rename directories that the overlay refuses to rename, if the kernel allows
// it; the launcher reports this as Layer::kRenameDirectories. `workspace`: the overlay's path in
// the sandbox.
void OrderRenames(const std::string& workspace, Preparation* preparation);

// Replaces the workspace by the transaction's copy; does nothing for an overlay, which is at the
// workspace's own path. kSetup if the host has replaced the workspace.
std::optional<Error> TakeCopy(const MountedWorkspace& mounted, Workspace* workspace);

// Returns the layer that marks the record of a command in the transaction.
Layer LayerOf(const MountedWorkspace& mounted);

// Returns true if write access below a path would reach the transaction's state, and so the data
// that is committed from there.
bool HoldsState(const MountedWorkspace& mounted, const std::string& path);

// The transaction of a backend's runs: nullptr without one. MountedOf fails with kClosed if it was
// closed, and while it is committed.
using TransactionOfBackend = std::shared_ptr<const CurrentWorkspace>;
Result<std::shared_ptr<const MountedWorkspace>> MountedOf(const TransactionOfBackend& transaction);

// Checks that the host still has the same directory at the workspace's path as when the transaction
// was opened: kSetup otherwise. `directory`: the current one.
std::optional<Error> CheckUnmoved(const MountedWorkspace& mounted, int directory);
std::optional<Error> CheckUnmoved(const std::string& path, const FileIdentity& before,
                                  int directory);

}  // namespace native_runner
