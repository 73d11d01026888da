#pragma once

#include <memory>
#include <string>

#include "policy/result.h"
#include "protocol/file_identity.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/workspace.h"

namespace native_runner {

// A workspace with an overlay over it, in namespaces of its own, which live as long as this: the
// owner is the transaction, and whoever runs something in it shares it until the end of that is
// proved. Immutable.
struct KeptWorkspace {
  std::string path;            // the real one, on the host and in the namespaces
  FileIdentity below;          // what the host has there
  Descriptor user_namespace;   // not valid: root makes mount namespaces without one
  Descriptor mount_namespace;  // in which the overlay is mounted on `path`
  Descriptor root;             // the overlay's (O_PATH)
};

// Where the overlay puts changes, and what it needs besides: absolute paths of two directories.
struct OverlayDirectories {
  std::string upper;
  std::string work;
};

// Makes the namespaces and mounts the overlay. kUnavailable, saying why, where that can't be had.
// Blocks, as MakeNamespaces does. Any thread.
Result<std::shared_ptr<const KeptWorkspace>> KeepWorkspace(const std::string& launcher,
                                                           const Workspace& workspace,
                                                           const OverlayDirectories& directories);

// DEVICE and INODE of what is open.
Result<FileIdentity> IdentityOf(int descriptor);

}  // namespace native_runner
