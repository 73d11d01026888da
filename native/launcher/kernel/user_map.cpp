#include "launcher/kernel/user_map.h"

#include <cstddef>

#include "launcher/kernel/calls.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

bool WriteMap(int proc, const char* path, const char* text, std::size_t size) {
  const int fd = kernel::OpenIn(proc, path, O_WRONLY);
  if (fd < 0) return false;
  const bool written = kernel::Write(fd, text, size) == static_cast<long>(size);
  kernel::Close(fd);
  return written;
}

bool MapOne(int proc, const char* path, long inner, long outer) {
  FixedText<64> line;
  line.AddNumber(inner).Add(" ").AddNumber(outer).Add(" 1\n");
  return WriteMap(proc, path, line.c_str(), line.size());
}

}  // namespace

bool MapUser(const UserMap& map, int proc) {
  return WriteMap(proc, "self/setgroups", "deny", 4) &&
         MapOne(proc, "self/gid_map", map.gid, map.outer_gid) &&
         MapOne(proc, "self/uid_map", map.uid, map.outer_uid);
}

bool MapUser(long uid, long gid) {
  const int proc = kernel::Open("/proc", O_PATH | O_DIRECTORY);
  if (proc < 0) return false;
  const bool is_mapped = MapUser({uid, gid, uid, gid}, proc);
  kernel::Close(proc);
  return is_mapped;
}

}  // namespace native_runner
