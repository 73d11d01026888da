#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// One run's leaf in the cgroup v2 tree, which limits memory and processes of the whole process
// tree. The destructor removes it; a busy one is left to its parent, which tries again.
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
// Documentation/admin-guide/cgroup-v2.rst, "Delegation". Supervisor thread only.
class CgroupParent {
 public:
  CgroupParent() = default;
  // Removes the leaves of hosts that were killed. In tests, `directory` may be any directory that
  // looks like a cgroup.
  CgroupParent(std::string directory, bool memory, bool pids);

  // Examines this process's own group and its parent. For root a group counts only if it is marked
  // as delegated (user.delegate, trusted.delegate): systemd owns the others.
  static CgroupParent Detect();

  bool memory() const { return memory_; }
  bool pids() const { return pids_; }

  // Makes a leaf with the request's limits; kSetup if the kernel refuses one of them.
  Result<std::unique_ptr<Cgroup>> Create(const Limits& limits);

 private:
  std::string directory_;
  bool memory_ = false;
  bool pids_ = false;
  std::uint64_t next_ = 0;
  std::shared_ptr<std::vector<std::string>> stale_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace native_runner
