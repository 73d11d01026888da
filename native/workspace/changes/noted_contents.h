#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/transaction/host_file.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Contents that are noted where a later change of a file may leave its times as they are:
//   a tmpfs or ramfs      what is written through a mapping (mmap(2)) sets no time
//   any file system       neither does it on a page that is written to already: it is not noticed
//                         until the kernel has written the page to disk
//   times just set        another change in the same tick gets the same; a tick may be two seconds
// Elsewhere times are enough, and no file is read. Any thread.

// True if a file system, of which something is open, never tells of what is written by mappings.
bool HidesMappedWrites(int descriptor);

// True if somebody has a file open for writing, or that can't be found out. `file`: open for
// reading only. Finds out by a lease (fcntl(2), F_SETLEASE) that is held for that moment.
bool MayBeOpenForWriting(int file);

// True if times may not tell a change from now on. `file`: open for reading only, as it was looked
// at.
bool MayChangeUnseen(int file, const HostFile& looked);

// A digest of a file's bytes or a link's target. nullopt: it is neither, or can't be read.
std::optional<std::uint64_t> ContentsOf(const ScannedDirectory& directory, const std::string& name,
                                        const Node& node);

// The same where times may not tell a change from now on, else nullopt.
std::optional<std::uint64_t> ContentsToNote(const ScannedDirectory& directory,
                                            const std::string& name, const Node& node);

// True if nothing was noted, or a directory has a file or link of this name with these contents.
bool HasNoted(const ScannedDirectory& directory, const std::string& name,
              const std::optional<std::uint64_t>& noted);

}  // namespace native_runner
