#include "launcher/kernel/user_map.h"

#include <cstddef>

#include "launcher/kernel/calls.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

bool WriteFile(const char* path, const char* text, std::size_t size) {
  const int fd = kernel::Open(path, O_WRONLY);
  if (fd < 0) return false;
  const bool written = kernel::Write(fd, text, size) == static_cast<long>(size);
  kernel::Close(fd);
  return written;
}

bool MapSelf(const char* path, long id) {
  FixedText<64> line;
  line.AddNumber(id).Add(" ").AddNumber(id).Add(" 1\n");
  return WriteFile(path, line.c_str(), line.size());
}

}  // namespace

bool MapUser(long uid, long gid) {
  return WriteFile("/proc/self/setgroups", "deny", 4) && MapSelf("/proc/self/gid_map", gid) &&
         MapSelf("/proc/self/uid_map", uid);
}

}  // namespace native_runner
