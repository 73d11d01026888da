#include "supervise/sandbox/socket_holders.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/report.h"
#include "supervise/os/child.h"
#include "supervise/proc/proc_file.h"

namespace native_runner {
namespace {

bool Holds(const std::string& link, const std::string& wanted) {
  char target[64];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 && wanted == std::string_view(target, static_cast<std::size_t>(size));
}

// A process by its number in /proc, which is that of an outer pid namespace where a sandbox around
// us shows its own /proc. proc_pid_status(5): NSpid has the numbers from /proc's namespace inwards.
// Not valid when it is gone, or none of our namespace.
Descriptor OpenShown(pid_t shown, std::size_t depth) {
  const auto numbers = NumbersInLine("/proc/" + std::to_string(shown) + "/status", "NSpid:");
  if (depth == 0 || numbers.size() < depth) return Descriptor();
  const auto ours = static_cast<pid_t>(numbers[depth - 1]);
  if (ours == getpid()) return Descriptor();
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, ours, 0)));
  if (!pidfd.valid()) return pidfd;
  // pidfd_open(2), as /proc counts: the number may have come to another process meanwhile.
  return NumberOfPidfd(pidfd.get()) == shown ? std::move(pidfd) : Descriptor();
}

}  // namespace

std::vector<Descriptor> KillSocketHolders(ino_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  const std::size_t depth = NumbersInLine("/proc/self/status", "NSpid:").size();
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return {};
  std::vector<Descriptor> found;
  while (const dirent* entry = readdir(processes)) {
    pid_t shown = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, shown);
    if (parsed.ptr != end || shown <= 0) continue;
    const std::string link =
        std::string("/proc/") + entry->d_name + "/fd/" + std::to_string(kControlDescriptor);
    if (!Holds(link, wanted)) continue;
    Descriptor pidfd = OpenShown(shown, depth);
    if (pidfd.valid() && Holds(link, wanted)) found.push_back(std::move(pidfd));
  }
  closedir(processes);
  for (const Descriptor& pidfd : found)
    SignalPidfd(pidfd.get(), SIGKILL);
  return found;
}

}  // namespace native_runner
