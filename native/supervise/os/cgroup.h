#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Controllers of cgroup v2, which a group can have its limits by.
struct Controllers {
  bool memory = false;
  bool pids = false;
  bool cpu = false;
  bool io = false;

  bool any() const { return memory || pids || cpu || io; }
};

// One run's leaf in the cgroup v2 tree, which limits memory, processes and shares of the whole
// process tree. The destructor removes it; a busy one is left to its parent, which tries again.
class Cgroup {
 public:
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // Call before the process has children: they start in its group.
  bool Add(pid_t pid) const;

  // Opens the group's directory, for a process that starts in it (CLONE_INTO_CGROUP).
  Result<Descriptor> OpenDirectory() const;

  // Returns true if the kernel has killed a process of this group for lack of memory
  // (memory.events, oom_kill).
  bool MemoryKilled() const;

 private:
  friend class CgroupParent;
  explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
  std::shared_ptr<std::vector<std::string>> stale_;
};

// The group that was delegated to us and takes our leaves; or none. Kernel document
// Documentation/admin-guide/cgroup-v2.rst, "Delegation". Supervisor thread only, but for the const
// functions.
class CgroupParent {
 public:
  CgroupParent() = default;
  // Removes the leaves of hosts that were killed. `is_own`: the host process is in the group
  // itself, so that Create has to make room first. In tests, `directory` may be any directory that
  // looks like a cgroup.
  CgroupParent(std::string directory, Controllers controllers, bool is_own = false);

  // Examines this process's own group and its parent. For root a group counts only if it is marked
  // as delegated (user.delegate, trusted.delegate; systemd owns the others), or is the root of a
  // cgroup namespace, as a container's is. A group that has our process in it counts only if it is
  // one of these, and nobody else's processes are in it.
  static CgroupParent Detect();

  // Its path; empty: there is none.
  const std::string& directory() const { return directory_; }
  // Those that leaves can have limits by. Of cpu and io only Create makes use, where asked to: they
  // cost the group's processes time.
  const Controllers& controllers() const { return controllers_; }

  // Makes a leaf with the request's limits; kSetup if the kernel refuses one of them.
  Result<std::unique_ptr<Cgroup>> Create(const Limits& limits);

 private:
  std::optional<Error> MakeRoom();

  std::string directory_;
  Controllers controllers_;
  bool is_own_ = false;
  std::uint64_t next_ = 0;
  std::shared_ptr<std::vector<std::string>> stale_ = std::make_shared<std::vector<std::string>>();
};

// Returns why weights of groups (io.weight, io.bfq.weight) divide nothing between the users of the
// disk that a path is on, as a clause; empty: they do. A weight takes the disk's scheduler BFQ, or
// io.cost. Any thread.
std::string WhyNoIoWeights(const std::string& path);

}  // namespace native_runner
