#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "supervise/host/host_watch.h"

namespace native_runner {

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
