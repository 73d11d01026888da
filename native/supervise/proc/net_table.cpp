#include "supervise/proc/net_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "policy/text/listening_port.h"
#include "supervise/os/child.h"
#include "supervise/os/descriptor.h"
#include "supervise/proc/proc_file.h"
#include "supervise/proc/process_facts.h"

namespace native_runner {
namespace {

// The kernel lists what listens before what is connected, of which a host may have a lot.
constexpr std::size_t kMostBytes = 1 << 20;

Result<std::string> ReadText(const std::string& path) {
  auto file = OpenPath(path.c_str(), O_RDONLY);
  if (!file) return file.error();
  std::string text(64 * 1024, '\0');
  std::size_t size = 0;
  while (size < kMostBytes) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t got = read(file->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// The kernel takes a process' network away early in its end, long before a pidfd tells of that.
bool IsEnding(pid_t process) {
  const auto facts = LookAtProcess(process);
  return !facts || facts->is_dying || facts->state == 'Z' || facts->state == 'X';
}

struct Table {
  const char* name;
  const char* counts;
  const char* protocol;
  bool is_required;  // a kernel may have no IPv6
};

constexpr Table kTables[] = {
    {"tcp", "sockstat", "TCP", true},
    {"tcp6", "sockstat6", "TCP6", false},
};

}  // namespace

Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port) {
  const pid_t number = NumberOfPidfd(pidfd);
  if (ProcessHasEnded(pidfd)) return false;
  if (number == 0) return SystemError("read /proc/self/fdinfo", ESRCH);
  const std::string net = "/proc/" + std::to_string(number) + "/net/";
  for (const Table& table : kTables) {
    // The kernel walks all buckets of its hash for a table, which takes milliseconds; not for this.
    auto counts = ReadText(net + table.counts);
    if (counts && SocketsInUse(*counts, table.protocol) == 0) continue;
    auto text = ReadText(net + table.name);
    if (!text && !table.is_required) continue;
    if (!text && IsEnding(number)) return false;
    if (!text) return text.error();
    // Only now is the number known to have been that process's while its table was read.
    if (HasListener(*text, port)) return !ProcessHasEnded(pidfd);
  }
  return false;
}

}  // namespace native_runner
