#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "policy/result.h"
#include "protocol/identity.h"
#include "supervise/os/file.h"
#include "supervise/preparation/backend.h"

namespace native_runner {

// A home that a project's commands see copy-on-write. An empty path: they see it read-only.
struct ProjectHome {
  std::string path;
  std::vector<std::string> hidden;  // below it, not shown; none of them is inside another
  std::vector<std::string> mounts;  // what the host has mounted in it, except in the folders
};

// Decides how the policy's home is shown. It stays read-only if it is no directory of the user's,
// or a part of a folder, of a secret or of a directory that is private anyway; and if a secret in
// it can't be hidden for good, as one that holds a folder. For an ordinary user also if anything is
// mounted in it.
//
// `scratch`: the private directories. `secrets`: real paths, existing or not. `mounts`: the mount
// points below the home, none of them inside another; nullopt: not known.
ProjectHome FindProjectHome(const ProjectPolicy& policy, const std::vector<std::string>& scratch,
                            const std::vector<std::string>& secrets,
                            std::optional<std::vector<std::string>> mounts);

// A directory as the mount namespace has it in which bwrap will run.
struct PlacedDirectory {
  std::string path;
  FileIdentity identity;
};

// Has the launcher make the overlay before bwrap runs, and put its root at the number `descriptor`.
// Those of `folders` that are in the home show as they are.
std::optional<Error> OrderHome(const ProjectHome& home, std::span<const PlacedDirectory> folders,
                               int descriptor, int launcher, SpawnPlan* plan);

}  // namespace native_runner
