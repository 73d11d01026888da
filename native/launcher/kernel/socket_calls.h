#pragma once

#include <sys/socket.h>

#include "launcher/kernel/calls.h"

// Of calls.h, those that make sockets.

namespace native_runner::kernel {

// Close-on-exec.
inline int OpenSocket(int family, int type, int protocol = 0) {
  return static_cast<int>(Call(SYS_socket, family, type | SOCK_CLOEXEC, protocol));
}
inline long SetSocketOption(int socket, int level, int option, int value) {
  return Call(SYS_setsockopt, socket, level, option, &value, sizeof value);
}
template <typename Address>
long Bind(int socket, const Address& address) {
  return Call(SYS_bind, socket, &address, sizeof address);
}
inline long Listen(int socket, int backlog) {
  return Call(SYS_listen, socket, backlog);
}
inline long SendPlain(int socket, const void* bytes, std::size_t size) {
  return Call(SYS_sendto, socket, bytes, size, MSG_NOSIGNAL, nullptr, 0);
}

}  // namespace native_runner::kernel
