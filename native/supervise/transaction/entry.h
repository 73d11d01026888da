#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policy/result.h"
#include "protocol/file_identity.h"
#include "supervise/host/program.h"
#include "supervise/preparation/preparation.h"
#include "supervise/transaction/kept_workspace.h"

namespace native_runner {

// Has what `plan` spawns, which is `program`, begin in the namespaces of `kept`: a launcher is
// spawned in its place, enters them, and executes the program. All else stays as the plan has it,
// to which nothing is given by descriptor any more but the numbers 0 to 4. The plan keeps `kept`
// until its end is proved. kSetup where the program can't be opened.
//
// `launcher`: the sealed image. The program is looked up here, on the host: in the namespaces, what
// a command has written could be at its path.
std::optional<Error> EnterKept(const std::shared_ptr<const KeptWorkspace>& kept,
                               const Program& program, int launcher, SpawnPlan* plan);

// Has the launcher rename directories that the overlay refuses to, where the kernel lets it: then
// it says so by Layer::kRenameDirectories. `workspace`: the overlay's path in the sandbox.
void OrderRenames(const std::string& workspace, Preparation* preparation);

// The host must still have at the workspace's path what it had when the overlay was made: kSetup
// otherwise. `directory`: what it has.
std::optional<Error> CheckUnmoved(const KeptWorkspace& kept, int directory);
std::optional<Error> CheckUnmoved(const std::string& path, const FileIdentity& before,
                                  int directory);

}  // namespace native_runner
