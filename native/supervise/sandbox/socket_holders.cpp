#include "supervise/sandbox/socket_holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "protocol/report.h"
#include "supervise/os/child.h"
#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

bool Holds(const std::string& link, const std::string& wanted) {
  char target[64];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 && wanted == std::string_view(target, static_cast<std::size_t>(size));
}

// The numbers in the line `name` of a small file in /proc; empty where there is none.
std::vector<pid_t> NumbersOf(const std::string& path, std::string_view name) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 8192> bytes{};
  std::size_t size = 0;
  while (file.valid() && size < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::string_view text(bytes.data(), size);
  while (!text.empty() && !text.starts_with(name))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(std::min(name.size(), text.size()));
  text = text.substr(0, text.find('\n'));
  std::vector<pid_t> numbers;
  for (std::size_t at = 0; (at = text.find_first_not_of("\t ", at)) != std::string_view::npos;) {
    pid_t number = 0;
    const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (parsed.ec != std::errc()) break;
    numbers.push_back(number);
    at = static_cast<std::size_t>(parsed.ptr - text.data());
  }
  return numbers;
}

// A process by its number in /proc, which is that of an outer pid namespace where a sandbox around
// us shows its own /proc. proc_pid_status(5): NSpid has the numbers from /proc's namespace inwards.
// Not valid when it is gone, or none of our namespace.
Descriptor OpenShown(pid_t shown, std::size_t depth) {
  const auto numbers = NumbersOf("/proc/" + std::to_string(shown) + "/status", "NSpid:");
  if (depth == 0 || numbers.size() < depth || numbers[depth - 1] == getpid()) return Descriptor();
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, numbers[depth - 1], 0)));
  if (!pidfd.valid()) return pidfd;
  // pidfd_open(2), as /proc counts: the number may have come to another process meanwhile.
  const auto opened = NumbersOf("/proc/self/fdinfo/" + std::to_string(pidfd.get()), "Pid:");
  return opened == std::vector<pid_t>{shown} ? std::move(pidfd) : Descriptor();
}

}  // namespace

int KillSocketHolders(ino_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  const std::size_t depth = NumbersOf("/proc/self/status", "NSpid:").size();
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  int found = 0;
  while (const dirent* entry = readdir(processes)) {
    pid_t shown = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, shown);
    if (parsed.ptr != end || shown <= 0) continue;
    const std::string link =
        std::string("/proc/") + entry->d_name + "/fd/" + std::to_string(kControlDescriptor);
    if (!Holds(link, wanted)) continue;
    const Descriptor pidfd = OpenShown(shown, depth);
    if (!pidfd.valid() || !Holds(link, wanted)) continue;
    SignalPidfd(pidfd.get(), SIGKILL);
    ++found;
  }
  closedir(processes);
  return found;
}

}  // namespace native_runner
