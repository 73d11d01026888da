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

// One run's leaf in the cgroup v2 tree: memory and processes of the whole tree are limited there.
// Removed by the destructor; one that is still busy is left to its parent, which tries again.
class Cgroup {
 public:
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // To be done before the process has children: those are born into its group.
  bool Add(pid_t pid) const;

  // The group's directory, for a process that is to be born into it (CLONE_INTO_CGROUP).
  Result<Descriptor> OpenDirectory() const;

  // The kernel has ended a process of this group for want of memory (memory.events, oom_kill).
  bool MemoryKilled() const;

 private:
  friend class CgroupParent;
  explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
  std::shared_ptr<std::vector<std::string>> stale_;
};

// A group in which we may make leaves: the one that was delegated to us, or none. Kernel document
// Documentation/admin-guide/cgroup-v2.rst, "Delegation". Supervisor thread only.
class CgroupParent {
 public:
  CgroupParent() = default;
  // Removes the leaves of hosts that were killed. For tests: any directory that looks like a
  // cgroup.
  CgroupParent(std::string directory, bool memory, bool pids);

  // Looks at this process's own group and its parent. As root a group only counts when it is marked
  // as delegated (user.delegate, trusted.delegate): systemd owns the others.
  static CgroupParent Detect();

  bool memory() const { return memory_; }
  bool pids() const { return pids_; }

  // A leaf with the request's limits; kSetup when the kernel refuses one of them.
  Result<std::unique_ptr<Cgroup>> Create(const Limits& limits);

 private:
  std::string directory_;
  bool memory_ = false;
  bool pids_ = false;
  std::uint64_t next_ = 0;
  std::shared_ptr<std::vector<std::string>> stale_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace native_runner
