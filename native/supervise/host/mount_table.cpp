#include "supervise/host/mount_table.h"

#include <fcntl.h>
#include <poll.h>

#include <utility>

namespace native_runner {

std::optional<std::uint64_t> MountTable::Changes() {
  if (!table_.valid()) {
    auto opened = OpenPath("/proc/thread-self/mountinfo", O_RDONLY);
    if (!opened) return std::nullopt;
    table_ = std::move(*opened);
  }
  pollfd table{table_.get(), POLLPRI, 0};
  if (poll(&table, 1, 0) < 0) return std::nullopt;
  if (table.revents != 0) ++changes_;
  return changes_;
}

}  // namespace native_runner
