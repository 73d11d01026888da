#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {

// What stands in a project for a protected path that does not exist. Linux can mount only on what
// exists, and without a mount there a command could make it. It is an empty directory, which git
// does not see, or, where git would trip over one, a file that tells git what it takes for granted.
// While a run lasts it is locked (flock(2)), shared by all runs, of any process, that count on it;
// the last one removes it, as long as nobody has put anything into it. One that a killed process
// left behind is known by its sticky bit, and is taken over by the next run. Any thread; the
// destructor removes, also where a command has made the directory above unwritable.
class Placeholder {
 public:
  struct Form {
    bool is_file = false;
    std::string_view text;  // of a file
  };

  // nullopt: something else has been made there meanwhile. `parent` is an O_PATH directory.
  static Result<std::optional<Placeholder>> Take(int parent, const std::string& name, Form form);

  // Whether the entry is one of this form.
  static bool IsOne(int parent, const std::string& name, Form form);

  Placeholder(Placeholder&&) noexcept = default;
  Placeholder& operator=(Placeholder&&) = delete;
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  ~Placeholder();

 private:
  Placeholder(Descriptor parent, Descriptor entry, std::string name, Form form)
      : parent_(std::move(parent)), entry_(std::move(entry)), name_(std::move(name)), form_(form) {}

  Descriptor parent_;
  Descriptor entry_;  // holds the lock; not valid once moved from
  std::string name_;
  Form form_;
};

// What a mount shows, as it was when the run started: pinned, as the workspace is.
struct OpenedMount {
  Descriptor file;   // O_PATH
  std::string path;  // the real one
  bool is_directory = false;
};

// One for each mount, symbolic links followed. kSetup, naming the field, where there is nothing, or
// what is neither a directory nor a regular file: behind a FIFO, a socket or a device is somebody
// whom no mode of a mount keeps apart. The same for a writable mount of the kernel's own file
// systems (proc(5), sysfs(5)), through which root could change the host.
Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts);

// Sees to it that the mounts of a policy have a place, so that bwrap makes none on the host and
// follows no link there. What does not exist is held by a placeholder, which is gone with the last
// sandbox that needs it; `plan_only`: by none. kSetup, naming the mount, for a place along a
// symbolic link, which a command may have made; for one of another type than what is mounted there;
// and for one that is missing where nothing may be made, or whose directory is missing too.
Result<std::vector<Placeholder>> HoldMountPoints(const std::vector<MountPoint>& points,
                                                 const std::vector<HostMount>& mounts,
                                                 const std::vector<OpenedMount>& opened,
                                                 const Workspace& workspace, bool plan_only);

}  // namespace native_runner
