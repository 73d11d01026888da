#include "supervise/host/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "policy/text/shared_mounts.h"

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
  std::string text;
  std::array<char, 16384> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  for (;;) {
    const ssize_t got =
        pread(table_.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got < 0) return true;
    if (got == 0) return text.empty() || HasSharedMount(text);
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace native_runner
