#pragma once

#include <cstddef>

namespace native_runner {

// Of the stack that these need, at their deepest; only what is used is ever there.
inline constexpr std::size_t kMoveStackBytes = 1024 * 1024;

// A name in an open directory (O_PATH will do).
struct Place {
  int directory = -1;
  const char* name = nullptr;
};

// Does for a directory what rename(2) would, where the kernel can't: an overlay says EXDEV for a
// directory that a layer below has. Its directories are made anew under the name `temporary` beside
// `to`, and each file, link and FIFO is renamed into them; then the whole gets its name, by one
// rename, and the empty directories go. No file is ever removed or copied by us, and none is left
// behind: what others put into the old directory meanwhile follows. Nothing is looked up but single
// names in directories that are open, and no link or mount is passed: so all of it stays in the
// file system of the two, whatever others do there.
//
// `flags`: as of renameat2(2), none or RENAME_NOREPLACE. What the kernel checks before it says
// EXDEV is not checked again. Returns 0, or -errno, and then all is as it was: -ENOTEMPTY, -EEXIST,
// -ENOSPC, -EDQUOT and -EIO mean what they do for rename(2), the last also that it could not be put
// back; -EXDEV for all else, such as files that the caller has no right to rename.
long MoveDirectory(const Place& from, const Place& to, const char* temporary, unsigned flags);

// Puts back what of `from` is in the directory `temporary`, left by a move whose process has died.
void UndoMove(const Place& from, const Place& temporary);

}  // namespace native_runner
