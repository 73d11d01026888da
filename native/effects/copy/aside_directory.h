#pragma once

#include <optional>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Whether two descriptors are of directories between which files can be renamed: of one file
// system, and reached through one mount. Else a commit needs such a place.
bool CanRename(int one, int other);

// The place aside of a commit whose transaction lies on another file system (aside_place.h). The
// directory `commit` of the transaction names it, on disk before it is made and for as long as
// there may be anything of it. `commit`: open for reading.

// Makes one next to the workspace or, where that is another file system or nothing may be made
// there, directly in it; then with a .gitignore, so that git tells of nothing. 0700. `host`: the
// workspace. kSetup where there can be none.
Result<Descriptor> MakeAsideDirectory(int commit, int host);

// Open for reading; nullopt: the commit has none. kSetup, naming it, where it is not what was made.
Result<std::optional<Descriptor>> OpenAsideDirectory(int commit);

// With all that is in it; one that is there no more, or that somebody has put another in the place
// of, is passed over.
std::optional<Error> RemoveAsideDirectory(int commit);

}  // namespace native_runner
