#include "supervise/proc/net_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "policy/text/listening_port.h"
#include "supervise/os/child.h"
#include "supervise/os/descriptor.h"

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

// As /proc counts, which may be that of an outer pid namespace. "" when the process is gone.
Result<std::string> NumberOf(int pidfd) {
  constexpr std::string_view kName = "Pid:\t";
  auto text = ReadText("/proc/self/fdinfo/" + std::to_string(pidfd));
  if (!text) return text;
  const std::size_t at = text->find(kName);
  if (at == std::string::npos) return std::string();
  const std::string number =
      text->substr(at + kName.size(), text->find('\n', at) - at - kName.size());
  return number.starts_with("-") ? std::string() : number;
}

}  // namespace

Result<bool> ListensInNetworkOf(int pidfd, std::uint16_t port) {
  auto number = NumberOf(pidfd);
  if (!number) return number.error();
  if (number->empty() || ProcessHasEnded(pidfd)) return false;
  const std::string net = "/proc/" + *number + "/net/";
  for (const Table& table : kTables) {
    // The kernel walks all buckets of its hash for a table, which takes milliseconds; not for this.
    auto counts = ReadText(net + table.counts);
    if (counts && SocketsInUse(*counts, table.protocol) == 0) continue;
    auto text = ReadText(net + table.name);
    if (!text && !table.is_required) continue;
    if (!text) return text.error();
    // Only now is the number known to have been that process's while its table was read.
    if (HasListener(*text, port)) return !ProcessHasEnded(pidfd);
  }
  return false;
}

}  // namespace native_runner
