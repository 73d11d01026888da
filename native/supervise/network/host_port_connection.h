#pragma once

#include <cstdint>
#include <string>

#include "policy/network/host_port.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/sockets.h"

namespace native_runner {

// A connection to a port of the sandbox's loopback that stands for one of the host's. Where it
// leads is decided by the listener that accepted it, and by nothing that the client sends: no byte
// is read before the host has been connected to. If that fails the client gets a reset.
class HostPortConnection : public Connection {
 public:
  // `client` is open; `entry` outlives this.
  HostPortConnection(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                     SocketStream client, const HostPort* entry)
      : Connection(parts, connections, started_ns),
        client_(std::move(client)),
        entry_(entry),
        dialer_(parts->loop, parts->resolver, parts->options) {}

  void Start() override;
  void TimedOut() override {}  // the dialer has its own deadline
  void Drain() override;

 private:
  void Looked();
  void DialEnded(Dialled dialled);
  void Fail(const std::string& reason);
  ConnectionRecord RecordOf(std::string reason) const;

  SocketStream client_;
  const HostPort* entry_;
  bool is_over_ = false;
  Dialer dialer_;
};

}  // namespace native_runner
