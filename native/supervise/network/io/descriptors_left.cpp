#include "supervise/network/io/descriptors_left.h"

#include <sys/resource.h>

namespace native_runner {

bool LeavesDescriptors(int descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return static_cast<rlim_t>(descriptor) < limit.rlim_cur - limit.rlim_cur / 4;
}

}  // namespace native_runner
