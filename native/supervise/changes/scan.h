#pragma once

#include <cstdint>
#include <vector>

#include "policy/changes/change.h"
#include "policy/result.h"
#include "supervise/changes/tree.h"

namespace native_runner {

// What an overlay over `lower` shows otherwise than `lower` does, in the order of the paths' bytes.
// `upper` is where overlayfs has put it. A file whose contents, mode, owner and extended attributes
// are the host's is no change, whatever its times; contents are compared, since times can be
// forged.
//
// `since_ns` (since 1970): a change of the host's to one of the paths, from then on, is a conflict.
//
// kSetup where something can't be read, a path is longer than 4,095 bytes, or there are more than a
// million changes. Meant for a thread of its own; the trees may change meanwhile, and what is said
// of a path is then of one moment or another.
Result<std::vector<Change>> ScanChanges(const Tree& upper, const Tree& lower,
                                        std::uint64_t since_ns);

}  // namespace native_runner
