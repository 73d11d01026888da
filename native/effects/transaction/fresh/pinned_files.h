#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "effects/changes/scanned_tree.h"

namespace native_runner {

// The files and links of the host's of which an overlay (its root, O_PATH) shows another file, or
// none: a running command holds the old one open, or works in a directory that was there before,
// and whoever comes to that name gets it too. Looked at are those that have changed since a moment
// by their ctime, and those in a directory that has. Told by the inode's number, which overlayfs
// gives files of the lower directory as it is there ("Inode properties" in
// Documentation/filesystems/overlayfs.rst). What `upper` (the overlay's upper directory) has, a
// command has changed, and is none of them. Directories that can't be read are passed over. Any
// thread; as long as it takes to look at each of the host's files.
std::set<std::string, std::less<>> FindPinned(const ScannedTree& host, int overlay, int upper,
                                              std::uint64_t since_ns);

}  // namespace native_runner
