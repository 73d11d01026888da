#include "supervise/network/io/endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>

namespace native_runner {
namespace {

constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 30;

void SetOption(int socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

}  // namespace

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  const auto bytes = endpoint.address.bytes();
  if (endpoint.address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, sizeof v4);
    size = sizeof v4;
    return;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
  std::memcpy(&storage, &v6, sizeof v6);
  size = sizeof v6;
}

std::optional<Endpoint> EndpointOf(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return Endpoint{.address = IpAddress::V4(ntohl(v4.sin_addr.s_addr)),
                    .port = ntohs(v4.sin_port)};
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  IpAddress::V6Bytes bytes{};
  std::copy(std::begin(v6.sin6_addr.s6_addr), std::end(v6.sin6_addr.s6_addr), bytes.begin());
  return Endpoint{.address = IpAddress::V6(bytes), .port = ntohs(v6.sin6_port)};
}

std::optional<Endpoint> LocalEndpoint(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, address, &size) != 0) return std::nullopt;
  return EndpointOf(address);
}

void ResetConnection(Descriptor socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  static_cast<void>(setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

void SetNoDelay(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void SetKeepAlive(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace native_runner
