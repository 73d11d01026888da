#include "supervise/holders.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <string>

#include "policy/report.h"
#include "supervise/child.h"
#include "supervise/descriptor.h"

namespace native_runner {
namespace {

bool Holds(const std::string& link, const std::string& wanted) {
  char target[64];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 && wanted == std::string_view(target, static_cast<std::size_t>(size));
}

}  // namespace

int KillHolders(ino_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  int found = 0;
  while (const dirent* entry = readdir(processes)) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, pid);
    if (parsed.ptr != end || pid <= 0 || pid == getpid()) continue;
    const std::string link =
        std::string("/proc/") + entry->d_name + "/fd/" + std::to_string(kControlDescriptor);
    if (!Holds(link, wanted)) continue;
    const Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid() || !Holds(link, wanted)) continue;
    SignalPidfd(pidfd.get(), SIGKILL);
    ++found;
  }
  closedir(processes);
  return found;
}

}  // namespace native_runner
