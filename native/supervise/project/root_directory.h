#pragma once

#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A path inside at which a plan mounts something over an own root.
struct RootPlace {
  std::string path;  // normalized
  enum class Type { kDirectory, kFile, kLink } type = Type::kDirectory;
  bool may_hide = false;  // what stands in the way in the root may be hidden by an empty directory
};

// A directory of the host that stands in the place of its root file system, pinned when the run
// started.
struct OpenedRoot {
  std::string path;               // with links resolved
  std::vector<Mount> mounts;      // parents before what is in them
  std::vector<Descriptor> files;  // O_PATH, of the mounts that bind something, in their order
};

// Lays out the root at `directory` (option `root`) such that each of the places can be mounted upon
// it, although nothing is ever written to it: a directory without the place is a directory of the
// sandbox's own, into which what it holds is bound one by one. Symbolic links of the root stay
// links, so that they lead nowhere but inside; its /proc, /sys, /dev, /tmp and /run are left out,
// and devices, FIFOs and sockets that stand at such a level. `first_descriptor`: the number of the
// first bound entry; the others follow.
//
// kSetup, naming `root`, if it is missing, is no directory, is the host's root directory, belongs
// to another user than this one and root, or can be written by everybody; if a place is behind a
// link or something else in the root; or if a directory without a place holds too much. Any thread.
Result<OpenedRoot> OpenRoot(const std::string& directory, const std::vector<RootPlace>& places,
                            int first_descriptor);

}  // namespace native_runner
