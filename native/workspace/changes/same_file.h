#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// True if two files of this size, open for reading, have the same bytes. False if one can't be
// read, or this is stopped (helper_thread.h). Reads both up to the first difference, without the
// holes that both have.
bool HaveSameBytes(int one, int other, std::uint64_t size);

// Returns a digest of a file that is open for reading. It is no cryptographic hash: different files
// can be made that have the same. nullopt if the file can't be read, or this is stopped. Zeros and
// holes are the same.
std::optional<std::uint64_t> DigestOf(int file);

// True if both have the same extended attributes user.*, without those of overlayfs, and the same
// access control lists. False if they can't be read.
bool HaveSameAttributes(int one, int other);

// Copies these attributes from one file or directory to another, and removes access control lists
// that only the other has. False, with errno(3), on failure.
bool CopyAttributes(int from, int to);

// True if a file has this attribute, with this value if one is given. kSetup if it can't be read,
// which must not be taken for "no".
Result<bool> HasAttribute(int file, const char* name,
                          std::optional<std::string_view> value = std::nullopt);

// The files of one name in two trees, now and before. At least one of them exists.
struct TwoNodes {
  std::optional<Node> now;
  std::optional<Node> before;
};

// Returns the change between the two, without a link's target.
Change ChangeOf(const std::string& path, const TwoNodes& nodes);

// True if both are equal except for their times: contents and extended attributes of files are
// compared. False if one can't be read.
bool AreSame(const TwoNodes& nodes, const std::string& name, const ScannedDirectory& now_in,
             const ScannedDirectory& before_in);

// Replaces the changes of a deleted file and of a new file with the same bytes by one, kRenamed, at
// the new path, with `from`. Each file is part of at most one pair; of several files with the same
// bytes, one of the same name is preferred, then the first by its path's bytes. Only files that are
// not empty are paired. A conflict of either side is a conflict of the pair.
//
// `changes`: in the order of their paths' bytes, before and after. Reads files only if sizes are
// equal; a file that can't be read is not paired. Meant for a thread of its own.
void PairRenames(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes);

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
