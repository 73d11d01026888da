#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {

// An entry made in a project in place of a protected path that does not exist, or of a directory
// above one. Linux can mount only on existing entries, and without a mount a command could create
// the path. It is an empty directory, which git does not see, or a file that says the same to its
// readers as a missing one. During a run it is locked (flock(2)), shared by all runs, of any
// process, that need it; the last run removes it unless something has been put into it. One that a
// killed process left behind is recognised by its sticky bit, and the next run takes it over. Any
// thread. The destructor removes it, even if a command has made the parent directory unwritable.
class Placeholder {
 public:
  using Form = PlaceholderForm;

  // Returns nullopt if a different entry has been made there meanwhile. `parent` is an O_PATH
  // directory.
  static Result<std::optional<Placeholder>> Take(int parent, const std::string& name, Form form);

  // Calls `last` with the open entry, once no run needs it any more and before it is removed. If
  // that returns false the entry stays as it is, for the next run.
  void OnLast(std::function<bool(int entry)> last) { last_ = std::move(last); }

  // Calls `last` as above, now, for an entry that a process which was killed has left. False if a
  // run needs it, or there is no directory with a placeholder's mark.
  static bool FinishLeft(int parent, const std::string& name,
                         const std::function<bool(int entry)>& last);

  // Returns true if the entry is a placeholder of this form.
  static bool IsOne(int parent, const std::string& name, Form form);

  int entry() const { return entry_.get(); }

  Placeholder(Placeholder&&) noexcept = default;
  Placeholder& operator=(Placeholder&&) = delete;
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  ~Placeholder();

 private:
  Placeholder(Descriptor parent, Descriptor entry, std::string name, Form form)
      : parent_(std::move(parent)), entry_(std::move(entry)), name_(std::move(name)), form_(form) {}

  Descriptor parent_;
  Descriptor entry_;  // holds the lock; invalid once moved from
  std::string name_;
  Form form_;
  std::function<bool(int entry)> last_;
};

// The source of a mount, pinned when the run started, as the workspace is.
struct OpenedMount {
  Descriptor file;   // O_PATH
  std::string path;  // with links resolved
  bool is_directory = false;
};

// Opens the source of each mount, following symbolic links. kSetup, naming the field, if the source
// is missing or neither a directory nor a regular file: behind a FIFO, a socket or a device is a
// process that no mount mode isolates. kSetup also for a writable mount of the kernel's own file
// systems (proc(5), sysfs(5)), through which root could change the host.
Result<std::vector<OpenedMount>> OpenHostMounts(const std::vector<HostMount>& mounts);

// Ensures that the mount points of a policy exist, so that bwrap makes none on the host and follows
// no link. A placeholder takes the place of a missing one until the last sandbox that needs it
// ends; with `plan_only` none is made. kSetup, naming the mount, if a mount point is reached
// through a symbolic link, which a command may have made; if its type differs from the mount's; or
// if it is missing where none may be made, or its parent directory is missing too.
Result<std::vector<Placeholder>> HoldMountPoints(const std::vector<MountPoint>& points,
                                                 const std::vector<HostMount>& mounts,
                                                 const std::vector<OpenedMount>& opened,
                                                 const Workspace& workspace, bool plan_only);

}  // namespace native_runner
