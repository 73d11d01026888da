#pragma once

#include <memory>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file_threads.h"

namespace native_runner {

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
