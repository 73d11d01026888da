#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "policy/result.h"
#include "protocol/file_identity.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/workspace.h"

namespace native_runner {

// A workspace with an overlay over it, in namespaces of its own, which live as long as this, or a
// copy of one: the owner is the transaction, and whoever runs something in it shares it until the
// end of that is proved. Immutable, but for two notes.
struct KeptWorkspace {
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
void NoteEntry(const KeptWorkspace& kept);

// Where the overlay puts changes, and what it needs besides: absolute paths of directories.
struct OverlayDirectories {
  std::string state;  // in which both are
  std::string upper;
  std::string work;
};

// Makes the namespaces and mounts the overlay. kUnavailable, saying why, where that can't be had.
// Blocks, as MakeNamespaces does. Any thread.
Result<std::shared_ptr<const KeptWorkspace>> KeepWorkspace(const std::string& launcher,
                                                           const Workspace& workspace,
                                                           const OverlayDirectories& directories);

// The same of a copy that is there, in `state`; mounts nothing.
Result<std::shared_ptr<const KeptWorkspace>> KeepCopy(const Workspace& workspace,
                                                      const std::string& state,
                                                      const std::string& copy);

// DEVICE and INODE of what is open.
Result<FileIdentity> IdentityOf(int descriptor);

}  // namespace native_runner
