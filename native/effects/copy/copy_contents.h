#pragma once

#include <cstdint>

#include "effects/copy/copy_progress.h"

namespace native_runner {

// Fills an empty file with what another one holds. The file system shares the blocks where it can
// (FICLONE); else they are copied (copy_file_range(2)), and holes stay holes. `size`: of `from`, as
// it was looked at; one that has changed since is told from it afterwards, not here. 0, or of
// errno(3); ECANCELED where `progress` says stop. Any thread.
int CopyContents(int from, int to, std::uint64_t size, CopyProgress* progress);

}  // namespace native_runner
