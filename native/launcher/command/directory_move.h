#pragma once

#include <cstddef>

namespace native_runner {

// Stack that these functions need at their deepest; untouched pages cost nothing.
inline constexpr std::size_t kMoveStackBytes = 1024 * 1024;

// A name in an open directory (O_PATH is enough).
struct Place {
  int directory = -1;
  const char* name = nullptr;
};

// Renames a directory as rename(2) would, where the kernel can't: an overlay returns EXDEV for a
// directory that a lower layer has. Recreates its directories under the name `temporary` beside
// `to`, and renames each file, link and FIFO into them; then one rename gives the whole tree its
// name, and the empty directories are removed. No file is ever removed, copied or left behind:
// entries that other processes add to the old directory meanwhile are moved too. Only single names
// in open directories are looked up, and no link or mount is crossed, so everything stays in the
// file system of the two, whatever other processes do there.
//
// `flags`: of renameat2(2), 0 or RENAME_NOREPLACE. Conditions that the kernel checks before it
// returns EXDEV are not checked again. Returns 0, or -errno with the original state restored:
// -ENOTEMPTY, -EEXIST, -ENOSPC, -EDQUOT and -EIO mean the same as for rename(2), -EIO also that the
// state could not be restored; -EXDEV stands for every other error, such as files that the caller
// has no right to rename.
long MoveDirectory(const Place& from, const Place& to, const char* temporary, unsigned flags);

// Moves the entries of the directory `temporary` back to `from`, after a move whose process died.
void UndoMove(const Place& from, const Place& temporary);

}  // namespace native_runner
