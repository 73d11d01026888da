#pragma once

namespace native_runner {

// One user and group of a user namespace, and who they are in the one above it.
struct UserMap {
  long uid = 0;
  long gid = 0;
  long outer_uid = 0;
  long outer_gid = 0;
};

// In a user namespace that is new: these two mean something, and no other id (user_namespaces(7):
// one id may be mapped to one's own once setgroups(2) is given up). `proc`: a directory that shows
// us as "self", on a proc(5) that can be written. The process must be dumpable, or these files are
// root's.
bool MapUser(const UserMap& map, int proc);

// The user stays who he is; by /proc.
bool MapUser(long uid, long gid);

}  // namespace native_runner
