#include "supervise/host/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "protocol/shared_mounts.h"

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

bool MountTable::AreShared() {
  const auto changes = Changes();
  if (!changes) return true;
  if (looked_at_ != changes) {
    looked_at_ = changes;
    shared_ = LookForShared();
  }
  return shared_;
}

bool MountTable::LookForShared() {
  SharedMounts shared;
  std::array<char, 4096> part{};
  off_t offset = 0;
  ssize_t got = 0;
  while ((got = pread(table_.get(), part.data(), part.size(), offset)) > 0) {
    shared.Take(part.data(), static_cast<std::size_t>(got));
    offset += got;
  }
  return got < 0 || shared.found();
}

}  // namespace native_runner
