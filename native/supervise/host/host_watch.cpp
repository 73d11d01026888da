#include "supervise/host/host_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace native_runner {
namespace {

// Those lines of proc_pid_status(5) that a child inherits and a command can tell.
constexpr std::array<std::string_view, 10> kInherited = {
    "Umask:",        "Uid:",         "Gid:",     "Groups:",
    "Cap",           "NoNewPrivs:",  "Seccomp:", "Seccomp_filters:",
    "Cpus_allowed:", "Mems_allowed:"};

bool IsInherited(std::string_view line) {
  for (const std::string_view name : kInherited) {
    if (line.starts_with(name)) return true;
  }
  return false;
}

// Of the thread that asks; a few hundred nanoseconds in all.
void AddLimits(std::string* state) {
  for (int kind = 0; kind < RLIMIT_NLIMITS; ++kind) {
    rlimit limit{};
    syscall(SYS_prlimit64, 0, kind, nullptr, &limit);  // C libraries differ in its parameters
    *state += std::to_string(limit.rlim_cur) + " " + std::to_string(limit.rlim_max) + " ";
  }
  *state += std::to_string(getpriority(PRIO_PROCESS, 0)) + "\n";
}

void AddName(std::string* state) {
  utsname name{};
  uname(&name);
  *state += std::string(name.nodename) + "\n" + name.domainname + "\n";
}

bool OpenOnce(const char* path, Descriptor* into) {
  if (into->valid()) return true;
  auto opened = OpenPath(path, O_RDONLY);
  if (opened) *into = std::move(*opened);
  return into->valid();
}

// A file that a kernel without the facility does not have adds nothing. False: too long to tell.
bool Append(const char* path, Descriptor* file, std::string* state) {
  if (!OpenOnce(path, file)) return true;
  std::array<char, 4096> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  const ssize_t size = pread(file->get(), text.data(), text.size(), 0);
  if (size < 0 || static_cast<std::size_t>(size) == text.size()) return false;
  state->append(text.data(), static_cast<std::size_t>(size));
  return true;
}

}  // namespace

bool HostWatch::AddInherited(std::string* state) {
  AddLimits(state);
  AddName(state);
  return Append("/proc/thread-self/oom_score_adj", &oom_score_, state) &&
         Append("/proc/thread-self/cgroup", &cgroups_, state);
}

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
  if (!AddInherited(&state)) return std::nullopt;
  return state;
}

}  // namespace native_runner
