#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "policy/options/home.h"
#include "policy/result.h"
#include "protocol/identity.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
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

// A directory of the host that is the home of one run or session, for a sandbox without mounts:
//
//   HOMES/ID/       0700; locked (flock(2)) as long as the home is used
//     home/         0700; what HOME names
//
// Commands have no rule for ID, so they can neither lock nor remove it. The destructor removes all:
// a few entries at once, more of them, or on a file system that may not answer, on one of
// FileThreads. What is left when the host dies, RemoveLeftHomes removes. Made on any thread,
// destroyed on the supervisor's.
class PrivateHome {
 public:
  // `homes`: a directory that nobody else can write to. `git_config`: the text of ~/.gitconfig;
  // empty: no file. `files`: nullptr, or outlives this. `answers`: the file system is this
  // machine's own. kSetup, naming the directory, if it can't be made.
  static Result<std::shared_ptr<const PrivateHome>> Make(const std::string& homes,
                                                         const std::string& git_config,
                                                         FileThreads* files, bool answers);
  ~PrivateHome();
  PrivateHome(const PrivateHome&) = delete;
  PrivateHome& operator=(const PrivateHome&) = delete;

  // The path that HOME names.
  const std::string& path() const { return path_; }

 private:
  PrivateHome() = default;

  std::string homes_;
  std::string id_;
  std::string path_;
  Descriptor directory_;  // ID, with the lock
  FileThreads* files_ = nullptr;
  bool answers_ = false;
};

// Removes the homes in `homes` that no process uses any more. Takes as long as they are large.
void RemoveLeftHomes(const std::string& homes);

}  // namespace native_runner
