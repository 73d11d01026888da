#include "effects/files/lock_file.h"

#include <sys/file.h>

#include <cerrno>

#include "effects/tree/beneath.h"

namespace native_runner {

FileResult<bool> LockFile(int fd) {
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return Refused("flock", errno);
  }
  return true;
}

}  // namespace native_runner
