#pragma once

namespace native_runner {

// In a user namespace that is new: the user stays who he is, as `uid` and `gid`, and no other id
// means anything (user_namespaces(7): one id may be mapped to itself once setgroups(2) is given
// up). The process must be dumpable, or these files are root's (proc(5)).
bool MapUser(long uid, long gid);

}  // namespace native_runner
