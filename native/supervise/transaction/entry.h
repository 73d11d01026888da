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

// Has what `plan` spawns, which is `program`, begin in the namespaces of `kept`, unless that is
// nullptr, and in a network namespace of its own where the plan's network is by domain: a launcher
// is spawned in its place, enters the one, makes the other with its listeners, and executes the
// program. All else stays as the plan has it, to which nothing is given by descriptor any more but
// the numbers 0 to 4. The plan keeps `kept` until its end is proved. kSetup where the program can't
// be opened.
//
// In a copy there is nothing to enter: the plan only keeps it.
//
// `launcher`: the sealed image. The program is looked up here, on the host: in the namespaces, what
// a command has written could be at its path.
std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& kept,
                                  const Program& program, int launcher, SpawnPlan* plan);

// The same where what `plan` spawns is the launcher itself, and where that finds the workspace is
// no matter of descriptors: it is at its path. `workspace`: the host's, see CheckUnmoved; of a copy
// it is looked at by TakeCopy.
std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& kept,
                                  int workspace, int launcher, SpawnPlan* plan);

// Has the launcher rename directories that the overlay refuses to, where the kernel lets it: then
// it says so by Layer::kRenameDirectories. `workspace`: the overlay's path in the sandbox.
void OrderRenames(const std::string& workspace, Preparation* preparation);

// Puts the copy that a transaction is in the place of the workspace that it was opened for; an
// overlay is at the workspace's own path. kSetup where the host has replaced the workspace.
std::optional<Error> TakeCopy(const MountedWorkspace& kept, Workspace* workspace);

// By which a record tells that a command was run in it.
Layer LayerOf(const MountedWorkspace& kept);

// Whether who may write below a path could write to where the transaction is kept, and so to what
// is committed from there.
bool HoldsState(const MountedWorkspace& kept, const std::string& path);

// What a runtime has of the transaction that its runs are in: nullptr where there is none. kClosed
// where it was closed, and while it is committed.
using TransactionOfBackend = std::shared_ptr<const CurrentWorkspace>;
Result<std::shared_ptr<const MountedWorkspace>> MountedOf(const TransactionOfBackend& transaction);

// The host must still have at the workspace's path what it had when it was opened: kSetup
// otherwise. `directory`: what it has.
std::optional<Error> CheckUnmoved(const MountedWorkspace& kept, int directory);
std::optional<Error> CheckUnmoved(const std::string& path, const FileIdentity& before,
                                  int directory);

}  // namespace native_runner
