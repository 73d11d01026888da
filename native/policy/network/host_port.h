#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/ip_address.h"
#include "policy/result.h"

namespace native_runner {

// The ports on which every sandbox with a network by domain listens, besides those of its rules:
// DNS, and the proxy (HTTP and SOCKS 5, distinguished by the first byte).
inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint16_t kProxyPort = 3128;

// One entry of `network.hostPorts`: a port of the host's own loopback that is at the same port of
// the sandbox's loopback, at 127.0.0.1 and ::1, whatever the host's address is.
struct HostPort {
  IpAddress address;  // on the host: in 127.0.0.0/8, or ::1
  std::uint16_t port = 0;

  // In the canonical spelling that is recorded and hashed: "127.0.0.1:5432", "[::1]:5432".
  std::string text() const;
};

// Reads an entry: "5432" (of 127.0.0.1), "127.0.0.2:5432" or "[::1]:5432". `field` names it in an
// error ("network.hostPorts[2]"). Refuses names, since what a name leads to changes, every address
// that is not the loopback's in its plain spelling, and the sandbox's own ports. Pure.
Result<HostPort> ReadHostPort(std::string_view text, std::string_view field);

// Returns the entries in the order of their ports, equal ones once. An error if two of them are of
// the same port and different addresses: the sandbox has one port for both. Pure.
Result<std::vector<HostPort>> OnePerPort(std::vector<HostPort> entries);

}  // namespace native_runner
