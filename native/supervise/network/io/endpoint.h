#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "policy/network/address/ip_address.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// An address and a port, and what is asked of sockets by them.
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
};

// For connect(2).
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  explicit SocketAddress(const Endpoint& endpoint);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// nullopt for what is neither IPv4 nor IPv6.
std::optional<Endpoint> EndpointOf(const sockaddr* address);
// What the socket is bound to: of an accepted one, whom its client connected to.
std::optional<Endpoint> LocalEndpoint(int socket);

// Closes it so that the other side sees a reset, not an end.
void ResetConnection(Descriptor socket);
// Small writes leave at once.
void SetNoDelay(int socket);
// Asks the peer now and then whether it is there, so that a dead one ends the connection.
void SetKeepAlive(int socket);

}  // namespace native_runner
