#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/options/home.h"
#include "policy/result.h"
#include "protocol/identity.h"
#include "protocol/report.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {

// Checks if commands could work on an overlay over this workspace as on the workspace itself.
// kUnavailable, with the reason, in cases that the kernel would mount all the same: another file
// system is mounted inside, which the overlay would not show; or, for an ordinary user, the
// workspace or one of its direct entries has another owner or group than the user's own, so the
// kernel refuses each write to such a file (EOVERFLOW). Deeper entries are not examined: there, the
// write itself fails.
std::optional<Error> CheckOverlay(const Workspace& workspace);

// Returns the paths at which something is mounted below a directory. `path`: its real path. kSetup
// if the mount table can't be read. Any thread.
Result<std::vector<std::string>> MountsBelow(const std::string& path);

// Checks if a bwrap, at an absolute path, can bind a descriptor, which an overlay needs:
// kUnavailable if its --help does not list that. A bwrap that does not answer is reported
// elsewhere. Blocks for some 2 ms, five seconds at most. Any thread.
std::optional<Error> CheckBindFd(const std::string& path);

// Makes the launcher at `path` execute the steps (protocol/order.h), and waits until it has ended.
// Returns the descriptors that they made, in order: they alone keep the namespaces alive.
// kUnavailable, with the step's own error, if the kernel refuses one.
//
// `given`: descriptors that steps name, numbered from kFirstGiven. Blocks the calling thread,
// usually for some 3 ms. Any thread.
inline constexpr int kFirstGiven = kControlDescriptor + 1;
Result<std::vector<Descriptor>> MakeNamespaces(const std::string& path,
                                               std::span<const std::string> steps,
                                               std::span<const int> given = {});

// A package cache of the host, to be shown copy-on-write to all commands of a transaction. Its
// upper and work directories are below `directory`, and are made where they are missing.
struct CacheOverlay {
  std::string source;               // a real path
  std::string directory;            // on disk, absolute
  std::vector<std::string> hidden;  // names in it that are not shown
};

// The overlay over a cache, mounted on `source`.
struct MountedCache {
  std::string source;
  Descriptor root;  // O_PATH
};

// A workspace under an overlay in its own namespaces, which live as long as this object; or a copy
// of a workspace; or caches alone, with neither a path nor a root. The transaction owns it, and
// each sandbox in it shares it until the end of the sandbox is proved. Immutable except for two
// notes.
struct MountedWorkspace {
  std::string path;            // the real path, on the host and in the namespaces
  std::string copy;            // path of the copy, which needs no namespace; empty: an overlay
  FileIdentity below;          // identity of the host's directory
  std::string state;           // the transaction's directory on disk
  std::string upper;           // an overlay's directory for changes, in `state`; else empty
  Descriptor user_namespace;   // invalid: root makes mount namespaces without one
  Descriptor mount_namespace;  // contains the overlay, mounted on `path`
  Descriptor root;             // the overlay's or the copy's (O_PATH)
  // In the same namespaces, which a copy has only because of them. Commands share the upper layers.
  std::vector<MountedCache> caches;

  // Time of the first start in it since its changes were last examined, by FileClock; 0: none.
  // Files that were unchanged then have not changed before this time.
  mutable std::atomic<std::uint64_t> entered_ns = 0;

  // True if a process was ever started in it; until then the overlay has examined none of the
  // host's files.
  mutable std::atomic<bool> was_entered = false;
};

// Returns the directories of the host that have what commands in it change: its own part of a
// workspace, and of the caches.
std::vector<std::string> ChangesIn(const MountedWorkspace& mounted);

// Call before any change in it, while sharing it.
void NoteEntry(const MountedWorkspace& mounted);

// The overlay's directories for changes and for its own needs: absolute paths.
struct OverlayDirectories {
  std::string state;  // contains both
  std::string upper;
  std::string work;
};

// Makes the namespaces and mounts the overlays. kUnavailable, with the reason, if that fails.
// Blocks like MakeNamespaces. Any thread.
Result<std::shared_ptr<const MountedWorkspace>> MountOverlay(const std::string& launcher,
                                                             const Workspace& workspace,
                                                             const OverlayDirectories& directories,
                                                             std::span<const CacheOverlay> caches);

// The same for an existing copy, in `state`: mounts the caches only.
Result<std::shared_ptr<const MountedWorkspace>> OpenCopiedWorkspace(
    const std::string& launcher, const Workspace& workspace, const std::string& state,
    const std::string& copy, std::span<const CacheOverlay> caches);

// Mounts the caches alone, without a workspace.
Result<std::shared_ptr<const MountedWorkspace>> MountCaches(const std::string& launcher,
                                                            std::span<const CacheOverlay> caches);

// Makes the overlay of `mounted` drop its cached names, so that look-ups find the host's current
// files. Overlayfs examines its layers once for each name and keeps the result as long as there is
// memory; a reconfiguration of the mount that changes nothing drops all unused entries
// (shrink_dcache_sb in Linux' reconfigure_super). Files and directories in use by running processes
// stay unchanged.
//
// kUnavailable, with the launcher's own error, if the kernel refuses. Blocks like MakeNamespaces.
// Any thread.
std::optional<Error> LookAgain(const std::string& launcher, const MountedWorkspace& mounted);

// The transaction's current mount for the next run: one mount after the other, at times none. Keeps
// none of them alive. Any thread.
class CurrentWorkspace {
 public:
  // Returns the current mount and shares its ownership; nullptr: none at present.
  std::shared_ptr<const MountedWorkspace> Enter() const {
    const std::lock_guard lock(mutex_);
    return workspace_.lock();
  }

  // nullptr: no run may enter any more.
  void Set(const std::shared_ptr<const MountedWorkspace>& workspace) {
    const std::lock_guard lock(mutex_);
    workspace_ = workspace;
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<const MountedWorkspace> workspace_;
};

// Mounts the host's package caches for the sandboxes of a kept home: what their commands write is
// kept in `directory`, one directory a cache. All sandboxes of this process that want the same
// caches share the overlays, as no two overlays may have one upper layer.
//
// Returns the overlays, as a workspace without one, to be shared until the sandbox has ended;
// nullptr while another process has them, or sandboxes with other caches. kUnavailable if they
// can't be mounted. Blocks like MakeNamespaces. Any thread.
Result<std::shared_ptr<const MountedWorkspace>> ShareHomeCaches(
    const std::string& launcher, const std::string& directory,
    const std::vector<ShownCache>& caches);

}  // namespace native_runner
