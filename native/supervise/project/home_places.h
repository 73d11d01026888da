#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/options/home.h"
#include "policy/result.h"

namespace native_runner {

// The path inside of a mount of the caller's.
struct MountPlace {
  std::string path;  // normalized
  bool is_directory = false;
};

// Makes the places of what a view shows, and of the caller's mounts, in a home that is a directory
// of the host: bwrap would make missing ones itself, and follow links that an earlier command has
// made there. Empty directories and files, which stay in the home. Without effect if the home is a
// tmpfs. kSetup, naming the path, if the directory is missing, or if something is in the way of a
// tool: a symbolic link, or a file where a directory is shown. What is in the way of a mount is
// left to HoldMountPoints. Any thread.
std::optional<Error> MakeHomePlaces(const HomeView& view,
                                    const std::vector<MountPlace>& mounts = {});

}  // namespace native_runner
