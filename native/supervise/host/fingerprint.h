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

// Detects changes of this process or of its mounts: a sandbox spawned now would get other
// credentials, limits or mounts than a prewarmed sandbox or a template's clones have. Supervisor
// thread only: the state is that of the spawning thread.
class HostWatch {
 public:
  // Returns a text that is equal as long as nothing has changed. Covers the ids, groups,
  // capabilities, umask, allowed processors, seccomp mode and no_new_privs of
  // /proc/thread-self/status, the other inherited state (resource limits, nice value,
  // oom_score_adj, cgroups), the host's name, and the number of mount table changes. nullopt if
  // /proc can't be read.
  std::optional<std::string> State();

  // MountTable::AreLocal, of the mounts that the last State saw.
  bool AreLocal() { return mounts_.AreLocalAt(mount_changes_); }

 private:
  bool AddInherited(std::string* state);

  Descriptor status_;
  Descriptor oom_score_;
  Descriptor cgroups_;
  MountTable mounts_;
  std::optional<std::uint64_t> mount_changes_;
};

// Returns true if one of these paths is gone, or leads to a file whose inode has changed since then
// (CLOCK_REALTIME), for example because another was renamed over it. Directories are only checked
// for existence, since they change with every entry. A change shortly before `since` may also be
// reported.
bool AnyReplacedSince(const std::vector<std::string>& paths, const timespec& since);

// Identity of a prewarmed sandbox, to compare it with one that would be made now.
struct Fingerprint {
  // bwrap's options; device, inode and type of each host file that they mount or mount over; the
  // state of this process. Empty: unknown, so no sandbox may be prewarmed.
  std::string host;
  std::uint64_t tmp_bytes = 0;  // size of the private tmpfs, set by a run's limits; 0: unlimited
  std::uint64_t asker = 0;      // asker of its network by domain; 0: none

  bool valid() const { return !host.empty(); }
  // Returns true if both describe the same sandbox, except for the size of the tmpfs.
  bool IsLike(const Fingerprint& other) const { return host == other.host && asker == other.asker; }
};

// The parts of a plan that go into its fingerprints, computed once. Pure.
struct FingerprintPlan {
  struct WatchedPath {
    std::string path;
    bool is_mount_point = false;  // false: it is bound
  };
  std::string options;
  std::uint64_t tmp_bytes = 0;
  std::uint64_t asker = 0;
  std::vector<WatchedPath> paths;
};
FingerprintPlan PlanFingerprint(const BubblewrapPlan& plan);

// Examines the host. The mount pins a bound file, so an equal inode is the same file. A mount point
// is not pinned: the kernel removes a mount when its mount point is removed or renamed over on the
// host (a new /etc/shadow would show), so its times count too. `bound`: descriptors of the files
// bound by descriptor, the workspace and the policy's mounts.
// `state`: of HostWatch, from before the look; nullopt: the fingerprint is not valid.
Fingerprint FingerprintOf(const FingerprintPlan& plan, std::span<const int> bound,
                          std::optional<std::string> state);

// Returns the host paths that a plan mounts or mounts over.
std::vector<std::string> PathsOf(const FingerprintPlan& plan);

// Returns the host paths that a plan mounts over; and their state, in a fingerprint's form, to
// detect a replacement.
std::vector<std::string> MountPointsOf(const FingerprintPlan& plan);
std::string LookAtMountPoints(const std::vector<std::string>& paths);

}  // namespace native_runner
