#include "supervise/network/own_network.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "protocol/namespace_number.h"
#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

std::uint64_t OwnNumber() {
  std::array<char, 64> text{};
  const ssize_t size = readlink("/proc/self/ns/net", text.data(), text.size() - 1);
  return size <= 0 ? 0 : NamespaceNumber(text.data());
}

std::uint64_t OwnCookie() {
  const Descriptor opened(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const int result = getsockopt(opened.get(), SOL_SOCKET, kNetworkCookieOption, &cookie, &size);
  return result == 0 && size == sizeof cookie ? cookie : 0;
}

}  // namespace

std::optional<Error> OrderOwnNetwork(OrderHeader* order) {
  order->flags |= kOrderOwnNetworkNamespace;
  order->network_namespace = OwnNumber();
  order->network_cookie = OwnCookie();
  if (order->network_namespace != 0) return std::nullopt;
  return Error{ErrorCode::kSetup,
               "network-by-domain: /proc/self/ns/net, by which a sandbox is told from the host, "
               "can't be read",
               "mount a /proc, or set network to \"deny\""};
}

}  // namespace native_runner
