#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/network/address/ip_address.h"

namespace native_runner {

// What is the same for every sandbox; only tests have another one. Times are in milliseconds.
struct NetworkOptions {
  // Ports on which the first bytes say whom they are for, and have to.
  std::vector<std::uint16_t> tls_ports = {443};
  std::vector<std::uint16_t> http_ports = {80};

  // At once, of one sandbox; fewer where the host has few descriptors, so that a sandbox can't take
  // them all (a connection takes two to four). What is over it waits in the kernel.
  std::size_t most_connections = 2048;
  // As many as libuv lets look up names at once of its four threads: more would only wait there,
  // ahead of the look-ups of the host's own program, for as long as a slow server makes them.
  std::size_t most_resolving = 2;

  // From the first byte that is waited for to a whole head, hello or question: who is slower keeps
  // a connection for nothing.
  std::uint64_t head_ms = 60'000;
  // To find the host's addresses and to connect to one. Linux itself gives up an address after
  // some 130 s; a resolver after 10 to 30.
  std::uint64_t connect_ms = 150'000;
  // Without a byte in either direction. Long polls and idle ssh sessions live longer than an hour;
  // a peer that is dead is found by keep-alive much earlier.
  std::uint64_t idle_ms = 4ULL * 60 * 60 * 1000;
  // How often the times above are looked at.
  std::uint64_t sweep_ms = 1000;
  // RFC 8305 5: before the next address is tried beside the one before.
  std::uint64_t attempt_ms = 250;

  // Addresses of names, instead of the host's resolver. Empty but in tests.
  std::map<std::string, std::vector<IpAddress>> hosts;
};

}  // namespace native_runner
