#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace native_runner {

// True if `table`, the text of /proc/PID/net/tcp or tcp6 (proc_pid_net(5)), has a socket in the
// state LISTEN on a local port. Ignores lines that are cut off or malformed. Pure.
bool HasListener(std::string_view table, std::uint16_t port);

// Returns how many sockets of a protocol ("TCP", "TCP6") are in use, including those that listen.
// `text` is that of /proc/PID/net/sockstat or sockstat6; nullopt if it does not say. Pure.
std::optional<std::uint64_t> SocketsInUse(std::string_view text, std::string_view protocol);

}  // namespace native_runner
