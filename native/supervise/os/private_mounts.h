#pragma once

#include <optional>

#include "policy/result.h"

namespace native_runner {

// Cuts the mounts of another process' mount namespace off from those that they were copied from:
// what the host mounts from now on, or unmounts, is no matter of theirs (MS_PRIVATE in mount(2)).
//
// Works without privileges where the namespace belongs to a user namespace that this user made, as
// bwrap's do. Nothing is done where root made it, with a set-user-id bwrap, and we are not root.
// `pidfd`: of a process in it that stands still. kSetup names the call that failed. Takes some
// 0.2 ms, for which the calling thread waits.
std::optional<Error> MakeMountsPrivate(int pidfd);

}  // namespace native_runner
