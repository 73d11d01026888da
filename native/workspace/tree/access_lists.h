#pragma once

#include <string_view>

namespace native_runner {

// True for the extended attributes that hold access control lists (acl(5)). A file that has one
// shows the list's mask as its group's permissions: with the mode and without the list, its group
// would get what the mask permits.
bool IsAccessList(std::string_view attribute);

// Gives a file the access control list of another one, and removes its own if that has none: it may
// have inherited one from its directory. Both may be O_PATH. chmod(2) sets the mask afterwards.
// False, with errno(3), on failure. Any thread.
bool CopyAccessList(int from, int to);

// True if chmod(2) alone could make two access control lists the same: they differ in the owner's,
// the others' and the mask's permissions only. Both may be O_PATH. False, too, if one can't be
// read. Any thread.
bool HaveAlikeAccessLists(int one, int other);

}  // namespace native_runner
