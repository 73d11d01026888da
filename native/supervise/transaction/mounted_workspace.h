#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/result.h"
#include "protocol/identity.h"
#include "protocol/report.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"

namespace native_runner {

// Whether commands could work on an overlay over this workspace as they do on itself. kUnavailable,
// saying why, where they could not though the kernel would mount it: where another file system is
// mounted inside, which the overlay would not show; and for an ordinary user where the workspace,
// or what lies directly in it, has another owner or group than the user's own, because the kernel
// refuses each write to such a file (EOVERFLOW). Deeper down nothing is looked at: there, the write
// itself fails.
std::optional<Error> CheckOverlay(const Workspace& workspace);

// Whether a bwrap, at an absolute path, can bind what a descriptor is, which an overlay needs:
// kUnavailable where its --help does not list that. One that does not answer is not the overlay's
// matter. Blocks for some 2 ms, five seconds at most. Any thread.
std::optional<Error> CheckBindFd(const std::string& path);

// Has the launcher at `path` take the steps (protocol/order.h), and waits until it has ended. Gives
// what they made, in their order: namespaces live on by these descriptors alone. kUnavailable, with
// the step's own words, where the kernel refuses one.
//
// `given`: descriptors that steps name, the first as kFirstGiven, the others in their order. Blocks
// the calling thread, for some 3 ms where nothing is in the way. Any thread.
inline constexpr int kFirstGiven = kControlDescriptor + 1;
Result<std::vector<Descriptor>> MakeNamespaces(const std::string& path,
                                               std::span<const std::string> steps,
                                               std::span<const int> given = {});

// A workspace with an overlay over it, in namespaces of its own, which live as long as this, or a
// copy of one: the owner is the transaction, and whoever runs something in it shares it until the
// end of that is proved. Immutable, but for two notes.
struct MountedWorkspace {
  std::string path;            // the real one, on the host and in the namespaces
  std::string copy;            // that of the copy, which needs no namespace; empty: an overlay
  FileIdentity below;          // what the host has there
  std::string state;           // where the transaction lies on disk
  Descriptor user_namespace;   // not valid: root makes mount namespaces without one
  Descriptor mount_namespace;  // in which the overlay is mounted on `path`
  Descriptor root;             // the overlay's, or the copy's (O_PATH)

  // When something was first started in it since its changes were last looked at, by FileClock; 0:
  // nothing was. What was not changed at that look was not changed before this moment.
  mutable std::atomic<std::uint64_t> entered_ns = 0;

  // Whether something was ever started in it: else the overlay has looked at none of the host's
  // files yet.
  mutable std::atomic<bool> was_entered = false;
};

// To be called before anything is changed in it, by whoever shares it already.
void NoteEntry(const MountedWorkspace& kept);

// Where the overlay puts changes, and what it needs besides: absolute paths of directories.
struct OverlayDirectories {
  std::string state;  // in which both are
  std::string upper;
  std::string work;
};

// Makes the namespaces and mounts the overlay. kUnavailable, saying why, where that can't be had.
// Blocks, as MakeNamespaces does. Any thread.
Result<std::shared_ptr<const MountedWorkspace>> KeepWorkspace(
    const std::string& launcher, const Workspace& workspace, const OverlayDirectories& directories);

// The same of a copy that is there, in `state`; mounts nothing.
Result<std::shared_ptr<const MountedWorkspace>> KeepCopy(const Workspace& workspace,
                                                         const std::string& state,
                                                         const std::string& copy);

// DEVICE and INODE of what is open.
Result<FileIdentity> IdentityOf(int descriptor);

// Has the overlay of `kept` forget what it knows of names, so that whoever looks one up finds what
// the host has there now. Overlayfs looks at its layers once for each name, and keeps what it has
// found for as long as there is memory; a reconfiguration of the mount that changes nothing drops
// all that nobody uses (shrink_dcache_sb in Linux' reconfigure_super). What something that runs has
// open, or works in, stays as it is.
//
// kUnavailable, with the launcher's own words, where the kernel refuses. Blocks as MakeNamespaces
// does. Any thread.
std::optional<Error> LookAgain(const std::string& launcher, const MountedWorkspace& kept);

// What the next who enters a transaction works on: one mount after the other, with moments in
// between in which there is none. Keeps none of them alive. Any thread.
class CurrentWorkspace {
 public:
  // nullptr: there is none now. Whoever has one holds it.
  std::shared_ptr<const MountedWorkspace> Enter() const {
    const std::lock_guard lock(mutex_);
    return workspace_.lock();
  }

  // nullptr: nobody enters any more.
  void Set(const std::shared_ptr<const MountedWorkspace>& workspace) {
    const std::lock_guard lock(mutex_);
    workspace_ = workspace;
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<const MountedWorkspace> workspace_;
};

}  // namespace native_runner
