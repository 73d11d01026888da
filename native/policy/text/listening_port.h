#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace native_runner {

// Whether `table`, the text of /proc/PID/net/tcp or tcp6 (proc_pid_net(5)), has a socket in the
// state LISTEN on a local port. Lines that are cut off or of another form don't count. Pure.
bool HasListener(std::string_view table, std::uint16_t port);

// How many sockets of a protocol ("TCP", "TCP6") are in use by `text`, that of
// /proc/PID/net/sockstat or sockstat6; nullopt where it does not say. Sockets that listen are among
// them. Pure.
std::optional<std::uint64_t> SocketsInUse(std::string_view text, std::string_view protocol);

}  // namespace native_runner
