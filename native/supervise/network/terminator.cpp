#include "supervise/network/terminator.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace native_runner {

Result<TerminatorEnds> MakeTerminatorChannel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return SystemError("socketpair", errno);
  }
  return TerminatorEnds{.ours = Descriptor(ends[0]), .theirs = Descriptor(ends[1])};
}

bool HandToTerminator(int channel, TerminatedConnection connection) {
  std::string line;
  for (const std::uint64_t number : {static_cast<std::uint64_t>(connection.client.get()),
                                     static_cast<std::uint64_t>(connection.host.get()),
                                     connection.run, static_cast<std::uint64_t>(connection.port)}) {
    line += std::to_string(number) + ' ';
  }
  line += connection.via;
  line += ' ';
  line += connection.name;
  line += '\n';
  // A stream socket takes such a short message whole or not at all.
  const ssize_t sent = send(channel, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(line.size())) return false;
  static_cast<void>(connection.client.Release());
  static_cast<void>(connection.host.Release());
  return true;
}

}  // namespace native_runner
