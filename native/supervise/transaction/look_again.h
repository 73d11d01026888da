#pragma once

#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/transaction/kept_workspace.h"

namespace native_runner {

// Has the overlay of `kept` forget what it knows of names, so that whoever looks one up finds what
// the host has there now. Overlayfs looks at its layers once for each name, and keeps what it has
// found for as long as there is memory; a reconfiguration of the mount that changes nothing drops
// all that nobody uses (shrink_dcache_sb in Linux' reconfigure_super). What something that runs has
// open, or works in, stays as it is.
//
// kUnavailable, with the launcher's own words, where the kernel refuses. Blocks as MakeNamespaces
// does. Any thread.
std::optional<Error> LookAgain(const std::string& launcher, const KeptWorkspace& kept);

}  // namespace native_runner
