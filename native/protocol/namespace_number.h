#pragma once

#include <cstdint>

#include "protocol/decimal.h"

namespace native_runner {

// SO_NETNS_COOKIE (socket(7), Linux 5.14), which older headers lack: a number that no two network
// namespaces have, and that any socket tells without /proc.
inline constexpr int kNetworkCookieOption = 71;

// The inode number of a namespace, from what its link in /proc/self/ns says: "mnt:[4026531841]"
// (namespaces(7)). 0, which no namespace has, for any other text. No heap and no C library: the
// supervisor reads the host's numbers with it, the launcher its own.
constexpr std::uint64_t NamespaceNumber(const char* link) {
  while (*link != '\0' && *link != '[')
    ++link;
  if (*link == '\0') return 0;
  ++link;
  std::uint64_t number = 0;
  return TakeDecimal(&link, &number) && link[0] == ']' && link[1] == '\0' ? number : 0;
}

}  // namespace native_runner
