#include "launcher/namespaces/listeners.h"

#include <netinet/in.h>

#include <cerrno>

#include "launcher/kernel/socket_calls.h"
#include "protocol/decimal.h"

namespace native_runner {
namespace {

constexpr Layer kLayer = Layer::kNetworkByDomain;
constexpr int kBacklog = 4096;  // the kernel's own bound, net.core.somaxconn, comes on top
constexpr std::uint64_t kMostPort = 65535;

in_port_t Port(std::uint64_t port) {
  return __builtin_bswap16(static_cast<in_port_t>(port));
}

long BindV4(int socket, std::uint32_t address, std::uint64_t port) {
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_port = Port(port);
  bound.sin_addr.s_addr = __builtin_bswap32(address);
  return kernel::Bind(socket, bound);
}

// Also for IPv4, whatever net.ipv6.bindv6only says.
long BindBoth(int socket, std::uint64_t port) {
  sockaddr_in6 bound{};
  bound.sin6_family = AF_INET6;
  bound.sin6_port = Port(port);
  const long result = kernel::SetSocketOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  return result == 0 ? kernel::Bind(socket, bound) : result;
}

// The socket, or -errno.
int BoundUdp(std::uint64_t port) {
  const int socket = kernel::OpenSocket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK);
  if (socket < 0) return socket;
  const long result = BindV4(socket, INADDR_LOOPBACK, port);
  if (result == 0) return socket;
  kernel::Close(socket);
  return static_cast<int>(result);
}

int BoundTcp(std::uint64_t port) {
  int socket = kernel::OpenSocket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK);
  const bool has_v6 = socket >= 0;
  if (!has_v6) socket = kernel::OpenSocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
  if (socket < 0) return socket;
  long result = has_v6 ? BindBoth(socket, port) : BindV4(socket, INADDR_ANY, port);
  if (result == 0) result = kernel::Listen(socket, kBacklog);
  if (result == 0) return socket;
  kernel::Close(socket);
  return static_cast<int>(result);
}

}  // namespace

BoundSockets::~BoundSockets() {
  for (std::size_t each = 0; each < count; ++each)
    kernel::Close(at[each]);
}

bool BindPorts(const char* list, BoundSockets* bound, Refusal* refusal) {
  for (;; ++list) {
    const bool is_udp = *list == kUdpPort;
    if (is_udp) ++list;
    std::uint64_t port = 0;
    if (bound->count == kMostMade || !TakeDecimal(&list, &port) || port == 0 || port > kMostPort ||
        (*list != ',' && *list != '\0')) {
      return refusal->Because("the order has a step without a port", -EINVAL);
    }
    const int socket = is_udp ? BoundUdp(port) : BoundTcp(port);
    if (socket < 0) {
      refusal->text.Add(LayerName(kLayer)).Add(": port ").AddNumber(static_cast<long>(port));
      return refusal->Because(is_udp ? " of UDP" : "", socket);
    }
    bound->at[bound->count++] = socket;
    if (*list == '\0') return true;
  }
}

}  // namespace native_runner
