#include "supervise/host/host_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace native_runner {
namespace {

// Those lines of proc_pid_status(5) that a child inherits and a command can tell.
constexpr std::array<std::string_view, 9> kInherited = {
    "Umask:",      "Uid:",     "Gid:",          "Groups:",      "Cap",
    "NoNewPrivs:", "Seccomp:", "Cpus_allowed:", "Mems_allowed:"};

bool IsInherited(std::string_view line) {
  for (const std::string_view name : kInherited) {
    if (line.starts_with(name)) return true;
  }
  return false;
}

bool OpenOnce(const char* path, Descriptor* into) {
  if (into->valid()) return true;
  auto opened = OpenPath(path, O_RDONLY);
  if (opened) *into = std::move(*opened);
  return into->valid();
}

}  // namespace

std::optional<std::string> HostWatch::State() {
  if (!OpenOnce("/proc/thread-self/status", &status_)) return std::nullopt;
  const auto mount_changes = mounts_.Changes();
  if (!mount_changes) return std::nullopt;

  std::array<char, 8192> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  const ssize_t size = pread(status_.get(), text.data(), text.size(), 0);
  if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  std::string state = std::to_string(*mount_changes) + "\n";
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (IsInherited(rest)) state += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  return state;
}

}  // namespace native_runner
