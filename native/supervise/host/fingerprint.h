#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/mounts.h"

namespace native_runner {

// Notices that this process, or the mounts it sees, are not what they were: what is spawned now
// would not get the credentials, the limits or the mounts that a standing sandbox has, or a
// template's clones. Supervisor thread only: the state is that of the thread that spawns.
class HostWatch {
 public:
  // Equal texts: nothing has changed in between. Holds the ids, groups, capabilities, umask,
  // allowed processors, seccomp mode and no_new_privs of /proc/thread-self/status, what else a
  // child inherits (resource limits, nice value, oom_score_adj, cgroups), the host's name, and how
  // often the mount table has changed. nullopt: /proc does not tell.
  std::optional<std::string> State();

 private:
  bool AddInherited(std::string* state);

  Descriptor status_;
  Descriptor oom_score_;
  Descriptor cgroups_;
  MountTable mounts_;
};

// Whether one of these paths is gone, or leads to a file whose inode has changed since then
// (CLOCK_REALTIME), as when another was renamed over it. Of directories only that they are there:
// they change with every entry. Looks at the host; what is seen may have been so shortly before.
bool AnyReplacedSince(const std::vector<std::string>& paths, const timespec& since);

// What a standing sandbox is made of, to tell whether one that would be made now is the same.
struct Fingerprint {
  // bwrap's options; device, inode and type of whatever they mount or mount upon on the host; the
  // state of this process. Empty: it can't be told, so nothing may stand.
  std::string host;
  std::uint64_t tmp_bytes = 0;  // the private tmpfs's size, which a run's limits set; 0 = no limit
  std::uint64_t asker = 0;      // whom its network by domain asks; 0: nobody

  bool valid() const { return !host.empty(); }
  // Whether what is made for one does for the other, but for the size of its tmpfs.
  bool IsLike(const Fingerprint& other) const { return host == other.host && asker == other.asker; }
};

// What of a plan goes into its fingerprints, worked out once. Pure.
struct FingerprintPlan {
  struct WatchedPath {
    std::string path;
    bool is_mount_point = false;  // else it is bound
  };
  std::string options;
  std::uint64_t tmp_bytes = 0;
  std::uint64_t asker = 0;
  std::vector<WatchedPath> paths;
};
FingerprintPlan PlanFingerprint(const BubblewrapPlan& plan);

// Looks at the host. What is bound is pinned by the mount, so an equal inode is the same file. What
// is mounted upon is not: the kernel takes a mount away when its mount point is removed or renamed
// over on the host (a new /etc/shadow would show), so there its times count too.
// `bound`: descriptors of what is bound by such, the workspace and the policy's mounts.
Fingerprint FingerprintOf(const FingerprintPlan& plan, std::span<const int> bound,
                          HostWatch* watch);

// What of a plan is mounted, or mounted upon, on the host.
std::vector<std::string> PathsOf(const FingerprintPlan& plan);

// What of it is mounted upon; and its state, as in a fingerprint, to tell whether
// any of it has been replaced since.
std::vector<std::string> MountPointsOf(const FingerprintPlan& plan);
std::string LookAtMountPoints(const std::vector<std::string>& paths);

}  // namespace native_runner
